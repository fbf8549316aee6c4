import { type Fields, fieldsOf, fieldsOrNone, textOf } from '../core/json.ts'
import type { Place } from './columns.ts'

/** What is known of a log besides its text; the rest is looked for in its metadata. */
export type Known = Partial<Place> & {
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
    return fieldsOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** When an observer of ours began; those of the Metrics Operator do not say. */
export function startedOf(metadata: Fields | undefined): string | null {
  return textOf(metadata?.started) ?? null
}

/** Seconds between samples, as the options say; both metrics' default is 10. */
export function rateOf(metadata: Fields | undefined): number {
  const { rate } = fieldsOrNone(metadata?.metricOptions)
  return typeof rate === 'number' && rate > 0 ? rate : 10
}

/** Where the log is from: what the caller knows goes before what the metadata say. */
export function placeOf(known: Known, metadata: Fields | undefined, metric: string | null): Place {
  const { pod, namespace, node, completionIndex, metricName } = metadata ?? {}
  return {
    source: known.source,
    metric: known.metric ?? textOf(metricName) ?? metric,
    namespace: known.namespace ?? textOf(namespace) ?? null,
    pod: known.pod ?? textOf(pod) ?? null,
    node: known.node ?? textOf(node) ?? null,
    rank: known.rank ?? wordOf(completionIndex),
  }
}

function wordOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return textOf(value) || null
}
