import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type MetricDocument, readOption } from '../core/catalog.ts'
import { fieldsOrNone } from '../core/kubernetes/json.ts'
import { readSecurityContext } from '../core/kubernetes/pod.ts'
import { podSecurityProblem } from '../core/kubernetes/pod-security.ts'
import { exportProblem } from '../core/live-export.ts'
import { readText } from '../lib/read-text.ts'
import { parseDocuments } from '../pods/manifest/parse-documents.ts'
import type { DefaultsDocument } from './defaults.ts'
import { descriptionProblem } from './description.ts'
import { schemaProblem } from './schema-problem.ts'
import { toolProblem } from './tool-problem.ts'

/** The documents of a folder, or of files that were already read. */
export interface CatalogDocuments {
  readonly metrics: readonly MetricDocument[]
  readonly defaults: { readonly path: string; readonly document: DefaultsDocument } | undefined
}

/**
 * An invalid catalog. The message names the file and the reason and, if they could be read, the
 * metric and the invalid field.
 */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

/**
 * Reads the documents of a folder.
 *
 * @throws CatalogError if one of them cannot be read or is invalid
 */
export async function readCatalogFolder(folder: string): Promise<CatalogDocuments> {
  const paths = (await readdir(folder)).map((name) => join(folder, name)).filter(isDocument)
  const read = async (path: string) => [path, await readText(path).catch(catalogError)] as const
  return parseCatalog(new Map(await Promise.all(paths.map(read))))
}

/**
 * Reports whether a path is a catalog document. A mounted ConfigMap also has folders, whose names
 * begin with a dot.
 */
function isDocument(path: string): boolean {
  return /^[^.].*\.ya?ml$/.test(basename(path))
}

/**
 * Parses the documents of a catalog.
 *
 * @param files texts by path; they are parsed in the order of their paths
 * @throws CatalogError if one of them is invalid
 */
export function parseCatalog(files: ReadonlyMap<string, string>): CatalogDocuments {
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
