import type { TorchTrace, TraceRun } from '../../metrics/torch-trace/trace-run.ts'

/** The traces of PyTorch's profiler. */
export interface TraceData {
  /** The traces, in the order of the ranks. */
  readonly traces: readonly RankTrace[]
  /** The number of traces that are left out. */
  readonly omitted: number
}

/** A trace, and its rank in the run. */
export interface RankTrace extends Omit<TorchTrace, 'source' | 'pod'> {
  readonly rank: string
  /** The path of the file below the folder of `collect --output artifacts`; null without a file. */
  readonly path: string | null
}

/** Builds the list of traces; undefined if there are none. */
export function traceData(
  { traces, omitted }: TraceRun,
  rankOf: (source: string) => string,
): TraceData | undefined {
  if (traces.length === 0) return undefined
  const named = traces.map(({ source, pod, ...trace }) => {
    const path = trace.file === null ? null : `${pod}/torch-trace/${trace.file}`
    return { rank: rankOf(source), ...trace, path }
  })
  return { traces: named.toSorted(compareRanks), omitted }
}

const natural = new Intl.Collator('en', { numeric: true }).compare

function compareRanks(one: RankTrace, other: RankTrace): number {
  const [first, second] = [one, other].map(({ worldRank }) => worldRank ?? Number.MAX_SAFE_INTEGER)
  return natural(one.rank, other.rank) || (first ?? 0) - (second ?? 0)
}
