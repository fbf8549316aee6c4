import { DOMAIN, PODS_OPTION } from './keys.ts'
import { type EnvVar, plain } from './kubernetes/environment.ts'
import type { Fields } from './kubernetes/json.ts'
import { POD_SECURITY_LEVELS, type PodSecurityLevel } from './kubernetes/pod-security.ts'
import { type InstallerContainer, type Tool, toolImage } from './tools/tool.ts'

/** The privileges that a metric can require: the levels of the Pod Security Standards. */
export const PRIVILEGES = POD_SECURITY_LEVELS
export type Privilege = PodSecurityLevel

/**
 * The metrics that an administrator offers. Annotations select metrics and cannot define new ones.
 */
export interface Catalog {
  /** A hash of the documents (eight hexadecimal digits), for comparing catalogs. */
  readonly revision: string
  /** The metrics by name. Unlike an object, a Map is safe for lookups of names that users write. */
  readonly metrics: ReadonlyMap<string, Metric>
  /**
   * The names of the default metrics, which `ridealong.dev/inject: "true"` requests, in the order
   * of their observers. If empty, the catalog offers no defaults.
   */
  readonly defaultMetrics: readonly string[]
}

/** A metric that users request by name, and the observer that measures it. */
export interface Metric {
  readonly name: string
  readonly description: string
  readonly privilege: Privilege
  /** The options by annotation key, `METRIC.ridealong.dev/OPTION`. */
  readonly options: ReadonlyMap<string, OfferedOption>
  /** The annotation that selects the pods to which the metric applies. */
  readonly podsKey: string
  /** The environment variables for all options with their default values. */
  readonly defaults: readonly EnvVar[]
  /** The rows of the observer's log; undefined if no document of the metric describes them. */
  readonly rows: RowsDescription | undefined
  /** The settings of the live export; undefined if it is off, or without described rows. */
  readonly liveExport: LiveExport | undefined
  /** The library that the metric loads into the application; undefined for most metrics. */
  readonly tool: Tool | undefined
  /** The names of metrics whose measurements this metric contains. */
  readonly includes: readonly string[]
  /** The only mode of the observer, which must run before the application; undefined for any. */
  readonly onlyMode: 'native' | undefined
  readonly container: ObserverContainer
}

/** The format and the meaning of the rows in the log of a metric's observer. */
export interface RowsDescription {
  /**
   * How the log writes its rows: `jsonl`, one JSON object per line; `pidstat` and `iostat`, the
   * formats of the Metrics Operator's perf-sysstat and io-sysstat.
   */
  readonly format: 'jsonl' | 'pidstat' | 'iostat'
  /** The kinds of rows. If there are several, each row names its section. */
  readonly sections: readonly RowSection[]
  /**
   * The lines of the summary at the end of the log. A line belongs to the first of these sections
   * whose first key it has. The live export pushes these lines while the observer runs.
   */
  readonly summary?: readonly RowSection[]
}

export interface RowSection {
  readonly name: string
  /** The thing that a row describes. */
  readonly of:
    | 'process'
    | 'thread'
    | 'container'
    | 'device'
    | 'interface'
    | 'pod'
    | 'function'
    | 'stack'
  /** The topic of the report to which the section belongs; its rows are shown there. */
  readonly title?: string
  readonly description: string
  readonly columns: readonly RowColumn[]
}

export interface RowColumn {
  readonly name: string
  readonly type: 'text' | 'number'
  /**
   * The unit and the behavior of a measured number. A counter only grows, from the start of the
   * thing that the row describes. A gauge is a state, or an amount or rate of the interval. A
   * number that identifies a thing, such as a process ID, has neither a unit nor a behavior.
   */
  readonly unit?: string
  readonly behavior?: 'gauge' | 'counter'
  /** True if the column is part of the key that distinguishes the rows of a section and time. */
  readonly key?: true
  /** How the live export exports the column. */
  readonly otlp?: OtlpNames
  /**
   * The quantity that the column measures, by its name in OpenTelemetry where there is one, with
   * its attributes in braces. Two columns with the same quantity of the same thing are two
   * measurements of one number, of which one is chosen. Without this, a column with a name and
   * attributes in `otlp` measures the quantity of this name.
   */
  readonly quantity?: string
  /** True if the value is estimated from samples. A counted value of the quantity is preferred. */
  readonly sampled?: true
  /** A few words for people, which the report shows in place of the name. */
  readonly title?: string
  readonly meaning: string
}

/** How the live export exports a column, where it should not follow its own rules. */
export interface OtlpNames {
  /**
   * The name of the metric, or of the attribute if the column is a key or a text. A text that is
   * not a key is only exported if it has a name.
   */
  readonly name?: string
  /** The unit in UCUM. */
  readonly unit?: string
  /** The factor that converts a value of the column to the unit. */
  readonly scale?: number
  /** Attributes of all points, such as a direction. */
  readonly attributes?: Readonly<Record<string, string>>
  /**
   * Of a key: whether the values of the rows that differ in it are summed with granularity `pod`.
   * By default, they are summed if the key is a number, such as a process id.
   */
  readonly summed?: boolean
  /** False if the values of the column are not exported. */
  readonly exported?: false
  /** Of a value: with granularity `pod`, the mean of the rows is exported instead of the sum. */
  readonly mean?: true
}

/** An option, and the environment variable that passes its value to the observer. */
export type OfferedOption = Option & { readonly variable: string }

/** The fields of a core/v1 Container that a catalog document defines. */
export interface ObserverContainer extends InstallerContainer {
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  /**
   * Only allowed with a privilege above `restricted`. Replaces the security context that would be
   * derived from the target.
   */
  readonly securityContext?: Fields
}

/**
 * A setting of a metric, with its type and its valid values. The default is one of these values.
 */
export type Option =
  | {
      readonly type: 'integer'
      readonly minimum: number
      readonly maximum: number
      readonly default: number
      readonly description: string
    }
  | { readonly type: 'boolean'; readonly default: boolean; readonly description: string }
  | {
      readonly type: 'string'
      readonly enum: readonly string[]
      readonly default: string
      readonly description: string
    }

/** A document of the catalog: `apiVersion: ridealong.dev/v1alpha1, kind: Metric`. */
export interface MetricDocument {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly description: string
    readonly privilege: Privilege
    readonly options?: Readonly<Record<string, Option>>
    readonly rows?: RowsDescription
    readonly otlp?: LiveExport
    readonly tool?: Tool
    readonly includes?: readonly string[]
    readonly onlyMode?: 'native'
    readonly container: ObserverContainer
  }
}

/**
 * Builds a catalog from valid documents. If two documents have the same name, the later document is
 * used. If only the earlier document describes the rows of the metric, its description is used.
 *
 * @param revision eight hexadecimal digits that change when a document changes
 * @param defaultMetrics names of metrics among the documents
 */
export function buildCatalog(
  documents: readonly MetricDocument[],
  revision: string,
  defaultMetrics: readonly string[] = [],
): Catalog {
  const rows = new Map(
    documents.flatMap(({ metadata, spec }) => {
      return spec.rows === undefined ? [] : [[metadata.name, spec.rows] as const]
    }),
  )
  const metrics = documents
    .map((document) => buildMetric(document, rows.get(document.metadata.name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const byName = new Map(metrics.map((metric) => [metric.name, metric]))
  return { revision, metrics: byName, defaultMetrics }
}

function buildMetric(
  { metadata: { name }, spec }: MetricDocument,
  rows: RowsDescription | undefined,
): Metric {
  const { description, privilege, tool, includes = [], onlyMode, container } = spec
  const options = Object.entries(spec.options ?? {}).map(([option, definition]) => {
    const offered = { ...definition, variable: optionVariable(option) }
    return [`${name}.ridealong.dev/${option}`, offered] as const
  })
  const defaults = options.map(([, option]) => plain(option.variable, String(option.default)))
  const liveExport = rows === undefined ? undefined : spec.otlp
  const read = new Map(options)
  return {
    name,
    description,
    privilege,
    options: read,
    podsKey: `${name}.${DOMAIN}/${PODS_OPTION}`,
    defaults,
    rows,
    liveExport,
    tool,
    includes,
    onlyMode,
    container,
  }
}

/** Returns the name of the environment variable with the value of an option. */
export function optionVariable(option: string): string {
  return `RIDEALONG_OPTION_${option.toUpperCase().replaceAll('-', '_')}`
}

/** Returns the images of a metric: of its observer and, if it has a tool, of the tool. */
export function imagesOf({
  container,
  tool,
}: Pick<Metric, 'container' | 'tool'>): readonly string[] {
  return tool === undefined ? [container.image] : [container.image, toolImage(tool).image]
}

/**
 * Reads the value that a user set for an option.
 *
 * @param written the text of the annotation
 * @returns the value in canonical form, for the observer's environment, or a description of the
 * valid values ("an integer from 1 to 3600")
 */
export function readOption(
  option: Option,
  written: string,
): { readonly value: string } | { readonly expected: string } {
  const text = written.trim()
  const allowed = allowedBy(option)
  const value = option.type === 'integer' && /^\d{1,15}$/.test(text) ? String(Number(text)) : text
  return allowed.accepts(value) ? { value } : { expected: allowed.sentence }
}

function allowedBy(option: Option): { accepts(value: string): boolean; sentence: string } {
  switch (option.type) {
    case 'integer':
      return {
        accepts: (value) =>
          /^\d{1,15}$/.test(value) && +value >= option.minimum && +value <= option.maximum,
        sentence: `an integer from ${option.minimum} to ${option.maximum}`,
      }
    case 'boolean':
      return {
        accepts: (value) => value === 'true' || value === 'false',
        sentence: 'one of true, false',
      }
    case 'string':
      return {
        accepts: (value) => option.enum.includes(value),
        sentence: `one of ${option.enum.join(', ')}`,
      }
  }
}

/** Reports whether a granted privilege includes a needed privilege. */
export function covers(granted: Privilege, needed: Privilege): boolean {
  return PRIVILEGES.indexOf(granted) >= PRIVILEGES.indexOf(needed)
}

/** The settings of the live export, which only catalog documents and the chart can make. */
export interface LiveExport {
  /** The URL of a receiver of OTLP over HTTP, without the path `/v1/metrics`. */
  readonly endpoint: string
  /** Seconds between pushes. */
  readonly interval?: number
  /**
   * `pod`: in each pod, the values of all processes of a program are summed. `process`: each
   * process has its own values.
   */
  readonly granularity?: 'pod' | 'process'
}
