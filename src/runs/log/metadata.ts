import { asText, type Fields, fieldsOrNone, parseFields } from '../../core/kubernetes/json.ts'
import type { RowOrigin } from './columns.ts'
import type { EndedContainer, ObservedPods, PodLimits } from './entry.ts'

/**
 * The fields of a log's origin that the caller sets. Missing fields are read from the metadata.
 */
export type KnownOrigin = Partial<RowOrigin> & {
  readonly source: string
  /** Notices about the log, one sentence each. */
  readonly notices?: readonly string[]
  /** How the containers of the pod ended; see `LogEntry`. */
  readonly ended?: readonly EndedContainer[] | null
  /** The limits of the whole pod; see `LogEntry`. */
  readonly podLimits?: PodLimits | null
  /** How many pods of the workload are observed; see `LogEntry`. */
  readonly observedPods?: ObservedPods | null
  /** Where the time of the run went; see `LogEntry`. */
  readonly time?: Fields | null
  /** The number of the attempt; see `LogEntry`. */
  readonly attempt?: number | null
}

/** Parses the metadata; returns undefined if they are not a JSON object, for example truncated. */
export function readMetadata(lines: readonly string[]): Fields | undefined {
  return parseFields(lines.join('\n'))
}

/**
 * Parses the summary of an observer of Ridealong: one line of JSON for the run, and one for each
 * program. The observer prints the summary after its closing marker, and also writes it as the
 * termination message of its container.
 */
export function readSummary(lines: readonly string[]): readonly Fields[] {
  const rows = lines.map((line) => (line.startsWith('{') ? parseFields(line) : undefined))
  return rows.filter((row) => row !== undefined)
}

/**
 * Returns the start time of an observer of Ridealong. Observers of the Metrics Operator do not
 * report their start.
 */
export function readStart(metadata: Fields | undefined): string | null {
  return asText(metadata?.started) ?? null
}

/**
 * Returns the seconds between samples, as set in the options. The default is 10, as in the options
 * of perf-sysstat and io-sysstat.
 */
export function readRate(metadata: Fields | undefined): number {
  return readRateOption(metadata) ?? 10
}

/** Returns the seconds between samples, as set in the options; null if they are not set. */
export function readRateOption(metadata: Fields | undefined): number | null {
  const { rate } = fieldsOrNone(metadata?.metricOptions)
  return typeof rate === 'number' && rate > 0 ? rate : null
}

/** Returns the origin of the log. A value from the caller takes precedence over the metadata. */
export function readPlace(
  known: KnownOrigin,
  metadata: Fields | undefined,
  metric: string | null,
): RowOrigin {
  const { pod, namespace, node, completionIndex, metricName } = metadata ?? {}
  return {
    source: known.source,
    metric: known.metric ?? asText(metricName) ?? metric,
    namespace: known.namespace ?? asText(namespace) ?? null,
    pod: known.pod ?? asText(pod) ?? null,
    node: known.node ?? asText(node) ?? null,
    pod_index: known.pod_index ?? asWord(completionIndex),
  }
}

function asWord(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return asText(value) || null
}
