import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCatalog, type Catalog, type MetricDocument, readOption } from '../core/catalog.ts'
import { fieldsOrNone } from '../core/kubernetes/json.ts'
import { readSecurityContext } from '../core/kubernetes/pod.ts'
import { podSecurityProblem } from '../core/kubernetes/pod-security.ts'
import { exportProblem } from '../core/live-export.ts'
import { readText } from '../lib/read-text.ts'
import { parseDocuments } from '../pods/manifest/parse-documents.ts'
import { type DefaultsDocument, defaultsProblem } from './defaults.ts'
import { descriptionProblem } from './description.ts'
import { schemaProblem } from './schema-problem.ts'
import { toolProblem } from './tool-problem.ts'

/**
 * An invalid catalog. The message names the file and the reason and, if they could be read, the
 * metric and the invalid field.
 */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

/** The folder of the built-in metrics. */
export const BUILT_IN = fileURLToPath(new URL('.', import.meta.url))

/** The sources of catalog documents. */
export interface CatalogSources {
  /**
   * A folder of YAML files with more metrics. A metric replaces the built-in metric of the same
   * name.
   */
  readonly folder?: string | undefined
  /**
   * The texts of all documents of a catalog that were already read, by path; an alternative to
   * `folder`. The built-in metrics are not added.
   */
  readonly files?: ReadonlyMap<string, string> | undefined
  /** Whether the built-in metrics are not added to `folder`. */
  readonly isWhole?: boolean | undefined
  /** The image of the built-in metrics' observers, if it is not the image in their documents. */
  readonly observerImage?: string | undefined
}

/**
 * Loads the built-in metrics, and the metrics of a folder or of files that were already read. A
 * document of kind Defaults there replaces the built-in default metrics.
 *
 * @throws CatalogError; one invalid document makes the whole catalog invalid
 */
export async function loadCatalog(sources: CatalogSources): Promise<Catalog> {
  const { folder, files, observerImage, isWhole = files !== undefined } = sources
  const builtIn = isWhole ? NONE : await readBuiltIn()
  const added = [
    folder === undefined ? NONE : readDocuments(await readFolder(folder)),
    files === undefined ? NONE : readDocuments(files),
  ]
  const documents = [
    ...builtIn.metrics.map((document) => withImage(document, observerImage)),
    ...added.flatMap(({ metrics }) => metrics),
  ]
  const defaults = readDefaults([builtIn, ...added], documents)
  const content = JSON.stringify([...documents, { defaults }])
  const revision = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return buildCatalog(documents, revision, defaults)
}

let builtInRead: Promise<Documents> | undefined

/** Reads the built-in metrics, once: they are part of the program. */
async function readBuiltIn(): Promise<Documents> {
  builtInRead ??= readFolder(BUILT_IN).then(readDocuments)
  return await builtInRead
}

/** The documents of a folder. */
interface Documents {
  readonly metrics: readonly MetricDocument[]
  readonly defaults: { readonly path: string; readonly document: DefaultsDocument } | undefined
}

const NONE: Documents = { metrics: [], defaults: undefined }

/**
 * Returns the default metrics of a catalog: those of the last folder that has such a document.
 *
 * @param metrics the documents of all metrics
 * @throws CatalogError if a default metric is not valid
 */
function readDefaults(
  folders: readonly Documents[],
  metrics: readonly MetricDocument[],
): readonly string[] {
  const last = folders.findLast(({ defaults }) => defaults !== undefined)?.defaults
  const problem = last && defaultsProblem(last.document, metrics)
  if (problem !== undefined) throw new CatalogError(`${last?.path}: ${problem}`)
  return last?.document.spec.metrics ?? []
}

/** Returns the texts of the documents in a folder, by path. */
async function readFolder(folder: string): Promise<ReadonlyMap<string, string>> {
  const paths = (await readdir(folder)).map((name) => join(folder, name)).filter(isDocument)
  const read = async (path: string) => [path, await readText(path).catch(catalogError)] as const
  return new Map(await Promise.all(paths.map(read)))
}

/**
 * Reports whether a path is a catalog document. A mounted ConfigMap also has folders, whose names
 * begin with a dot.
 */
function isDocument(path: string): boolean {
  return /^[^.].*\.ya?ml$/.test(basename(path))
}

/** @param files texts by path; they are read in the order of their paths */
function readDocuments(files: ReadonlyMap<string, string>): Documents {
  const paths = [...files.keys()].filter(isDocument).sort()
  const read = paths.flatMap((path) =>
    parse(path, files.get(path) ?? '').map((value) => readDocument(path, value)),
  )
  const metrics = read.flatMap((each) => ('metric' in each ? [each] : []))
  const defaults = read.flatMap((each) => ('defaults' in each ? [each] : []))
  const twin = metrics.find(({ metric }, index) =>
    metrics.slice(0, index).some((other) => other.metric.metadata.name === metric.metadata.name),
  )
  if (twin !== undefined)
    throw new CatalogError(`${twin.path}: metric ${twin.metric.metadata.name} is defined twice`)
  const [first, second] = defaults
  if (second !== undefined)
    throw new CatalogError(`${second.path}: kind Defaults is there twice; keep one document`)
  return {
    metrics: metrics.map(({ metric }) => metric),
    defaults: first && { path: first.path, document: first.defaults },
  }
}

function parse(path: string, text: string): readonly unknown[] {
  try {
    return parseDocuments(path, text)
  } catch (error) {
    return catalogError(error as Error)
  }
}

function catalogError(error: Error): never {
  throw new CatalogError(error.message)
}

type ReadDocument =
  | { readonly path: string; readonly metric: MetricDocument }
  | { readonly path: string; readonly defaults: DefaultsDocument }

function readDocument(path: string, value: unknown): ReadDocument {
  const { kind, metadata } = fieldsOrNone(value)
  if (kind === 'Defaults') return { path, defaults: readDefaultsDocument(path, value) }
  const { name } = fieldsOrNone(metadata)
  const where = typeof name === 'string' ? `${path}: metric ${name}` : path
  const violation = schemaProblem('metric', value)
  if (violation !== undefined) throw new CatalogError(`${where}: ${violation}`)
  const metric = value as unknown as MetricDocument
  const problem =
    optionProblem(metric) ??
    rowsProblem(metric) ??
    contextProblem(metric) ??
    exportProblem(metric) ??
    toolProblem(metric) ??
    includesProblem(metric)
  if (problem !== undefined) throw new CatalogError(`${where}: ${problem}`)
  return { path, metric }
}

function readDefaultsDocument(path: string, value: unknown): DefaultsDocument {
  const violation = schemaProblem('defaults', value)
  if (violation !== undefined) throw new CatalogError(`${path}: ${violation}`)
  return value as unknown as DefaultsDocument
}

function optionProblem({ spec }: MetricDocument): string | undefined {
  for (const [name, option] of Object.entries(spec.options ?? {})) {
    const read = readOption(option, String(option.default))
    if ('expected' in read) return `spec.options.${name}.default must be ${read.expected}`
  }
  return undefined
}

function rowsProblem({ spec }: MetricDocument): string | undefined {
  const problem = spec.rows && descriptionProblem(spec.rows)
  return problem && `spec.rows.${problem}`
}

function includesProblem({ metadata: { name }, spec }: MetricDocument): string | undefined {
  return spec.includes?.includes(name) ? 'spec.includes must not name the metric itself' : undefined
}

/**
 * Reports a securityContext that the apiserver or the kubelet would reject in any pod, or that
 * needs more than the privilege of the metric. The schema cannot express these rules.
 */
function contextProblem({ spec }: MetricDocument): string | undefined {
  const context = spec.container.securityContext
  if (context === undefined) return undefined
  const where = 'spec.container.securityContext'
  const { privileged, addedCapabilities, runAsNonRoot, runAsUser } = readSecurityContext(context)
  const gains = privileged || addedCapabilities.includes('SYS_ADMIN')
  if (gains && context.allowPrivilegeEscalation === false) {
    return `${where}.allowPrivilegeEscalation cannot be false with privileged or SYS_ADMIN`
  }
  if (runAsNonRoot && runAsUser === 0) return `${where}.runAsNonRoot cannot be true for user 0`
  const problem = podSecurityProblem(spec.privilege, context, false)
  return problem && `${where} needs more than the privilege ${spec.privilege}: ${problem}`
}

function withImage(document: MetricDocument, image: string | undefined): MetricDocument {
  if (image === undefined) return document
  const { spec } = document
  return { ...document, spec: { ...spec, container: { ...spec.container, image } } }
}
