import type { Catalog, Metric } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import { readAnnotations, readRequest } from '../../src/core/request.ts'
import { listIgnoredOptions, listOverlaps } from '../../src/core/rules/overlapping-metrics.ts'
import { DEFAULT_WORD } from '../../src/core/text/metric-list.ts'
import {
  type Annotated,
  annotate as annotateOne,
  unannotate,
} from '../../src/pods/manifest/annotate.ts'
import { findMissedPods } from '../../src/pods/manifest/missed-pods.ts'
import type { Manifest } from '../../src/pods/manifest/read.ts'
import { describe, listNotObjects, listWithoutPods } from '../../src/pods/manifest/report.ts'
import { findResources } from '../../src/pods/manifest/resources.ts'
import { listNamespacesWithoutTools } from '../../src/pods/manifest/tool-namespaces.ts'
import { listUnindexed } from '../../src/pods/manifest/unindexed-pods.ts'
import { type InjectOptions, isChanged, resolveMetrics, show, UNCHANGED } from '../inject/inject.ts'
import { asked, metricNames, writtenPairs } from '../shared/asking.ts'
import { readCatalogs } from '../shared/catalogs/catalog-by-namespace.ts'
import { EXIT, UsageError } from '../shared/errors.ts'
import { manifestError, readInput } from '../shared/input.ts'
import { addSchemas, type SchemaOptions } from '../shared/kind-schemas.ts'
import { exitCodeFor, type ManifestOutput } from '../shared/manifest-output.ts'
import type { Session } from '../shared/session.ts'

export type AnnotateOptions = Pick<
  InjectOptions,
  | 'filename'
  | 'metric'
  | 'annotation'
  | 'include'
  | 'output'
  | 'strict'
  | 'catalog'
  | 'observerImage'
> &
  SchemaOptions & { readonly pods?: string; readonly undo?: boolean }

/**
 * Runs `ridealong annotate -f FILE`: adds annotations to objects, in the field from which the
 * operator of each kind copies annotations to pods. By default, they request the default metrics.
 *
 * @throws UsageError if a file, a document or the request is invalid, or nothing could be
 * annotated; the caller then prints nothing
 */
export async function annotate(
  options: AnnotateOptions,
  session: Session,
): Promise<ManifestOutput> {
  const { include } = options
  const metrics = readMetrics(options)
  const namespaces = include?.some((kind) => kind.toLowerCase() === 'namespace') === true
  try {
    const input = await readInput(options.filename, session.stdin)
    if (options.undo === true)
      return removeAnnotations(resolveMetrics(input, include), options, namespaces)
    const { manifests, notes: aboutSchemas } = await addSchemas(input, options, session)
    const wanted = resolveMetrics(manifests, include)
    const request = {
      metrics: metricNames(metrics),
      annotations: writtenPairs(options.annotation),
    }
    const read = await readCatalogs(
      options,
      wanted.flatMap(findResources),
      request,
      session.environment,
    )
    const annotations = Object.fromEntries(
      read.catalogs.flatMap((catalog) => [...asked(metrics, readPairs(options), catalog)]),
    )
    const annotated = wanted.map((manifest) => annotateOne(manifest, annotations, namespaces))
    const missed = findMissedPods(
      annotated.flatMap(({ objects }) => objects),
      'annotated',
    )
    const notes = [...listUnannotated(wanted, annotated), ...missed.notes]
    const isAnyLeft = annotated.some(({ passedOver }) => passedOver.length > 0)
    const isNone = annotated.every(({ places }) => places === 0)
    if (isNone && !missed.isAnyMissed)
      throw new UsageError(...notes, ...wanted.flatMap(listWithoutPods), describeNothing(wanted))
    const warnings = listWarnings(annotations, manifests, annotated, read.catalogs)
    const origins = [...read.origins, ...aboutSchemas]
    return {
      output: show(annotated, options),
      notes: [...origins, ...notes, ...warnings],
      exitCode: exitCodeFor(missed, isAnyLeft, options.strict),
    }
  } catch (error) {
    return manifestError(error)
  }
}

/** Returns the warnings about annotations that were added. */
function listWarnings(
  annotations: Readonly<Record<string, string>>,
  manifests: readonly Manifest[],
  annotated: readonly Annotated[],
  catalogs: readonly Catalog[],
): readonly string[] {
  const requested = catalogs.flatMap((catalog) => listRequested(annotations, catalog))
  const tools = requested.filter(({ tool }) => tool !== undefined).map(({ name }) => name)
  const overlaps = catalogs.flatMap((catalog) => listOverlapNotes(annotations, catalog))
  return [
    ...listNamespacesWithoutTools(manifests, annotated, [...new Set(tools)]),
    ...listUnindexed(annotated, annotations),
    ...new Set(overlaps),
  ]
}

/** Returns a sentence for each object of a known kind without a place for annotations. */
function listUnannotated(
  manifests: readonly Manifest[],
  annotated: readonly Annotated[],
): readonly string[] {
  const passedOver = annotated.flatMap((one) => one.passedOver)
  return [
    ...manifests.flatMap(listNotObjects),
    ...passedOver.map(({ resource, why }) => describe(resource, why)),
  ]
}

function removeAnnotations(
  manifests: readonly Manifest[],
  options: AnnotateOptions,
  namespaces: boolean,
): ManifestOutput {
  const undone = manifests.map((manifest) => ({ manifest, text: unannotate(manifest, namespaces) }))
  const notes = undone.some(isChanged) ? [] : [`no annotation of Ridealong was found; ${UNCHANGED}`]
  return { output: show(undone, options), notes, exitCode: EXIT.ok }
}

/** Returns the metrics that the command line names, or the word for the default metrics. */
function readMetrics({ metric, annotation }: AnnotateOptions): readonly string[] {
  const written = writtenPairs(annotation)[KEYS.inject]
  return metric ?? (written === undefined ? [DEFAULT_WORD] : [written])
}

/** Returns the annotations of the command line, in addition to the metrics, as KEY=VALUE. */
function readPairs({ annotation = [], pods }: AnnotateOptions): readonly string[] {
  return pods === undefined ? annotation : [...annotation, `${KEYS.pods}=${pods}`]
}

/** Returns the warnings of the webhook about a valid request. */
function listOverlapNotes(
  annotations: Readonly<Record<string, string>>,
  catalog: Catalog,
): readonly string[] {
  const metrics = listRequested(annotations, catalog)
  return [...listOverlaps(metrics), ...listIgnoredOptions(metrics, readAnnotations(annotations))]
}

/** Returns the metrics that a valid request names. */
function listRequested(
  annotations: Readonly<Record<string, string>>,
  catalog: Catalog,
): readonly Metric[] {
  const request = readRequest(readAnnotations(annotations), new Map(), catalog)
  return request.kind === 'asked' ? request.metrics.map(({ metric }) => metric) : []
}

function describeNothing(manifests: readonly Manifest[]): string {
  const hasNamespace = manifests.flatMap(findResources).some(({ kind }) => kind === 'Namespace')
  const advice = '; Namespaces are annotated only with --include Namespace'
  return `no document was annotated${hasNamespace ? advice : ''}`
}
