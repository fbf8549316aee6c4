import { leave } from '../../src/core/decision.ts'
import { KEYS } from '../../src/core/keys.ts'
import { asFields, asText, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { type Namespace, readNamespace } from '../../src/core/namespaces/namespace.ts'
import { type Annotations, readAnnotations, readRequest } from '../../src/core/request.ts'
import { allow } from '../../src/core/response.ts'
import type { Review } from '../../src/core/review.ts'
import { type PodReview, reviewPod, type Settings } from '../../src/core/review-pod.ts'
import { selectsPods } from '../../src/core/rules/pod-selection.ts'
import { formatList } from '../../src/lib/format-list.ts'
import {
  type Answer,
  type InjectedManifest,
  inject as injectOne,
} from '../../src/pods/manifest/inject.ts'
import { findMissedPods } from '../../src/pods/manifest/missed-pods.ts'
import {
  included,
  type ManifestFormat,
  type Printed,
  printed,
} from '../../src/pods/manifest/print.ts'
import type { Manifest } from '../../src/pods/manifest/read.ts'
import {
  describeLeft,
  listInjectionWarnings,
  listNotObjects,
  listProblems,
  listSkipped,
} from '../../src/pods/manifest/report.ts'
import { findResources } from '../../src/pods/manifest/resources.ts'
import { buildReview } from '../../src/pods/manifest/static-pod.ts'
import { findTemplates, type Template } from '../../src/pods/manifest/templates.ts'
import { undo as undoOne } from '../../src/pods/manifest/undo.ts'
import { asked, metricNames, writtenPairs } from '../shared/asking.ts'
import { readCatalogs } from '../shared/catalogs/catalog-by-namespace.ts'
import { EXIT, UsageError } from '../shared/errors.ts'
import { manifestError, readInput } from '../shared/input.ts'
import { addSchemas, type SchemaOptions } from '../shared/kind-schemas.ts'
import { exitCodeFor, type ManifestOutput } from '../shared/manifest-output.ts'
import type { Session } from '../shared/session.ts'
import { readSettings, type SettingOptions } from '../shared/settings.ts'

export interface InjectOptions extends SettingOptions, SchemaOptions {
  readonly filename: readonly string[]
  readonly metric?: readonly string[]
  readonly annotation?: readonly string[]
  readonly include?: readonly string[]
  readonly namespace: string
  readonly undo?: boolean
  readonly strict?: boolean
  readonly output?: ManifestFormat
}

/**
 * Runs `ridealong inject -f FILE`: adds observers to the pod templates of static manifests.
 *
 * @throws UsageError if a file, a document or a request is invalid; then no document is printed
 */
export async function inject(options: InjectOptions, session: Session): Promise<ManifestOutput> {
  try {
    const input = await readInput(options.filename, session.stdin)
    if (options.undo === true) {
      const undone = resolveMetrics(input, options.include).map((manifest) => ({
        manifest,
        text: undoOne(manifest),
      }))
      const notes = undone.some(isChanged) ? [] : [NO_OBSERVERS]
      return { output: show(undone, options), notes, exitCode: EXIT.ok }
    }
    const { manifests, notes: aboutSchemas } = await addSchemas(input, options, session)
    const wanted = resolveMetrics(manifests, options.include)
    const { answer, origins } = await answererFor(manifests, wanted, options, session)
    const injected = wanted.map((manifest) => injectOne(manifest, answer, options.namespace))
    refuseWrong(injected)
    const missed = findMissedPods(
      injected.flatMap(({ objects }) => objects),
      'changed',
    )
    const isAnyLeft = wanted.flatMap(findResources).some((one) => describeLeft(one).length > 0)
    return {
      output: show(injected, options),
      notes: [
        ...origins,
        ...aboutSchemas,
        ...wanted.flatMap(listNotObjects),
        ...injected.flatMap(listSkipped),
        ...missed.notes,
        ...injected.flatMap(listInjectionWarnings),
      ],
      exitCode: exitCodeFor(missed, isAnyLeft, options.strict),
    }
  } catch (error) {
    return manifestError(error)
  }
}

/**
 * Returns the documents to print: those that contain a kind in `include`; by default, all.
 *
 * @throws UsageError if no document contains a kind in `include`
 */
export function resolveMetrics(
  manifests: readonly Manifest[],
  include: readonly string[] | undefined,
): readonly Manifest[] {
  if (include === undefined) return manifests
  const kinds = readKinds(include)
  const wanted = manifests.filter((manifest) => {
    return (
      included([{ manifest, text: manifest.text.slice(manifest.start, manifest.end) }], kinds)
        .length > 0
    )
  })
  if (wanted.length > 0) return wanted
  const there = new Set(manifests.flatMap(findResources).map(({ kind }) => kind))
  const known = there.size > 0 ? `the kinds are ${[...there].join(', ')}` : 'no document has a kind'
  throw new UsageError(`no document has the kind ${formatList(include, 'or')}; ${known}`)
}

function readKinds(include: readonly string[]): ReadonlySet<string> {
  return new Set(include.map((kind) => kind.toLowerCase()))
}

/** Formats the documents to print. */
export function show(
  documents: readonly Printed[],
  { include, output }: Pick<InjectOptions, 'include' | 'output'>,
): string {
  const chosen = include === undefined ? documents : included(documents, readKinds(include))
  return printed(chosen, output)
}

/** The end of a note about an --undo that had nothing to undo. */
export const UNCHANGED = 'nothing was changed'

const NO_OBSERVERS =
  `no observer of inject was found; ${UNCHANGED} (annotate --undo removes annotations, and pods ` +
  'that the webhook has changed are created again without them)'

/** Reports whether the text of a document differs from its text in the file. */
export function isChanged({ manifest, text }: Printed): boolean {
  return text !== manifest.text.slice(manifest.start, manifest.end)
}

function refuseWrong(injected: readonly InjectedManifest[]): void {
  const wrongs = injected.flatMap(listProblems)
  const last = wrongs.at(-1)
  if (last !== undefined) throw new UsageError(...wrongs.slice(0, -1), last)
}

interface Answerer {
  readonly answer: Answer
  /** Sentences that say where the catalogs come from. */
  readonly origins: readonly string[]
}

/** @param wanted the manifests to change; `manifests` may have the Namespaces */
async function answererFor(
  manifests: readonly Manifest[],
  wanted: readonly Manifest[],
  options: InjectOptions,
  { environment }: Session,
): Promise<Answerer> {
  const { namespaceOf, ...settings } = await readSettings(options)
  const documents = new Map(
    manifests
      .flatMap(findResources)
      .filter(({ group, kind }) => group === '' && kind === 'Namespace')
      .map(({ name, fields }) => [name, readNamespace(name, asFields(fields))]),
  )
  const place = (name: string) => documents.get(name) ?? namespaceOf(name)
  const templates = wanted.flatMap(findResources).flatMap(findTemplates)
  const { namespace } = options
  const metrics = namedMetrics(templates, place, options)
  const request = { namespace, metrics, annotations: writtenPairs(options.annotation) }
  const resources = templates.map(({ resource }) => resource)
  const { catalogFor, catalogs, origins } = await readCatalogs(
    options,
    resources,
    request,
    environment,
  )
  const given = new Map(
    catalogs.flatMap((catalog) => [...asked(options.metric, options.annotation, catalog)]),
  )
  const answer: Answer = (review, template) => {
    const catalog = catalogFor(review.namespace)
    const own = { ...settings, catalog, namespace: asking(place(review.namespace), given) }
    return dependsOnPod(review, template, own) ? refuseSelection(review) : reviewPod(review, own)
  }
  return { answer, origins }
}

/** Returns the names of metrics that the templates, their namespaces or the options request. */
function namedMetrics(
  templates: readonly Template[],
  place: (name: string) => Namespace,
  { metric = [], annotation, namespace }: InjectOptions,
): readonly string[] {
  const lists = templates.flatMap((template) => {
    const review = buildReview(template, template.resource.namespace || namespace)
    const own = fieldsOrNone(fieldsOrNone(fieldsOrNone(review.object).metadata).annotations)
    return [asText(own[KEYS.inject]), place(review.namespace).annotations.get(KEYS.inject)]
  })
  return metricNames([...metric, writtenPairs(annotation)[KEYS.inject], ...lists])
}

/**
 * Reports whether a template requests observers for some pods only. All pods of the template would
 * get the same observers.
 */
function dependsOnPod(
  { object }: Review,
  { resource, path }: Template,
  { namespace, catalog }: Settings,
): boolean {
  if (path.length === resource.path.length) return false
  const own = readAnnotations(asFields(fieldsOrNone(fieldsOrNone(object).metadata).annotations))
  const request = readRequest(own, namespace.annotations, catalog)
  return request.kind === 'asked' && selectsPods(request)
}

function refuseSelection(review: Review): PodReview {
  const decision = leave('invalid-option', PER_POD)
  return { decision, operations: [], response: allow(review) }
}

const PER_POD =
  `annotation ${KEYS.pods}: inject adds observers to a template, which all pods share; let the` +
  ' webhook add them (ridealong annotate), or remove the annotation'

/**
 * Adds the annotations of the command line to a namespace, and replaces annotations with the same
 * keys. The annotations of a pod take precedence over the result.
 */
function asking(namespace: Namespace, given: Annotations): Namespace {
  return { ...namespace, annotations: new Map([...namespace.annotations, ...given]) }
}
