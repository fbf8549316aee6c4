import { asFields, asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import type { RowOrigin } from './columns.ts'

/** What is known of a log besides its text; the rest is looked for in its metadata. */
export type KnownOrigin = Partial<RowOrigin> & {
  readonly source: string
  /** What a reader must know of the log, a sentence each. */
  readonly notices?: readonly string[]
}

/** The metadata, or undefined where they are cut. */
export function readMetadata(lines: readonly string[]): Fields | undefined {
  return parse(lines.join('\n'))
}

/**
 * The summary that an observer of Ridealong prints after its closing marker, and leaves as the
 * termination message of its container: a line of JSON for the run, and one for each program.
 */
export function readSummary(lines: readonly string[]): readonly Fields[] {
  const rows = lines.map((line) => (line.startsWith('{') ? parse(line) : undefined))
  return rows.filter((row) => row !== undefined)
}

function parse(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** When an observer of ours began; those of the Metrics Operator do not say. */
export function readStart(metadata: Fields | undefined): string | null {
  return asText(metadata?.started) ?? null
}

/** Seconds between samples, as the options say; both metrics' default is 10. */
export function readRate(metadata: Fields | undefined): number {
  const { rate } = fieldsOrNone(metadata?.metricOptions)
  return typeof rate === 'number' && rate > 0 ? rate : 10
}

/** Where the log is from: what the caller knows goes before what the metadata say. */
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
    rank: known.rank ?? asWord(completionIndex),
  }
}

function asWord(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return asText(value) || null
}
