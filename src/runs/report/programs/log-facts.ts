import type { RowSection, RowsDescription } from '../../../core/catalog.ts'
import { fieldsOrNone } from '../../../core/kubernetes/json.ts'
import type { CollectedRun, LogSource } from '../gather.ts'
import { listLeftOut } from '../thing-limit.ts'

/** What is known about a log as a source of quantities. */
export interface LogFacts {
  /** The name of the log. */
  readonly log: string
  /** The observer that wrote it: the same for all runs of its container. */
  readonly observer: string
  /** The number of the run, from 1. */
  readonly run: number
  readonly metric: string
  /** The pod, as the report names it. */
  readonly pod: string
  readonly description: RowsDescription | undefined
  /** Whether the observer stopped measuring before the application ended, as it was asked to. */
  readonly isEarly: boolean
  /** Whether no part of the log and no process is missing. */
  readonly isWhole: boolean
  /** The sections of which not all rows were kept. */
  readonly leftOut: ReadonlySet<RowSection>
  /** The position of the metric in the catalog; metrics that are not in it follow. */
  readonly order: number
  readonly source: LogSource
}

/**
 * Returns the facts about all logs of a run, by the name of the log.
 *
 * @param podOf returns the pod to which a log belongs
 */
export function readLogFacts(
  run: CollectedRun,
  podOf: (log: string) => string,
): ReadonlyMap<string, LogFacts> {
  const metrics = [...run.descriptions.keys()]
  const first = new Map<string, number>()
  for (const [log, source] of run.sources) {
    const began = startOf(source)
    const earliest = first.get(podOf(log)) ?? began
    first.set(podOf(log), Math.min(earliest, began))
  }
  const leftOut = Map.groupBy(listLeftOut(run.limit), ({ log }) => log)
  return new Map(
    [...run.sources].map(([log, source]) => {
      const metric = source.place.metric ?? ''
      const place = metrics.indexOf(metric)
      const [, observer = log, number = 1] = /^(.*)#(\d+)$/s.exec(log) ?? []
      const isLate = startOf(source) - (first.get(podOf(log)) ?? 0) > MAX_DELAY_MS
      return [
        log,
        {
          log,
          observer,
          run: Number(number),
          metric,
          pod: podOf(log),
          description: run.descriptions.get(metric) ?? source.log?.rows ?? undefined,
          isEarly: isEarly(source),
          isWhole: isWhole(source) && !isLate && !leftOut.has(log),
          leftOut: new Set((leftOut.get(log) ?? []).map(({ section }) => section)),
          order: place < 0 ? metrics.length : place,
          source,
        },
      ]
    }),
  )
}

/** Observers of one pod begin within this time. One that was attached later may miss processes. */
const MAX_DELAY_MS = 5000

/** Returns when an observer began, in milliseconds since 1970; infinity if that is not known. */
function startOf({ log }: LogSource): number {
  const started = Date.parse(String(log?.metadata.started ?? ''))
  return Number.isNaN(started) ? Number.POSITIVE_INFINITY : started
}

/** Reports whether an observer has taken all timepoints that its option `completions` allows. */
function isEarly({ log }: LogSource): boolean {
  const { completions } = fieldsOrNone(log?.metadata.metricOptions)
  const most = typeof completions === 'number' ? completions : 0
  return most > 0 && (log?.timepoints ?? 0) >= most
}

function isWhole({ log }: LogSource): boolean {
  if (log === undefined || log.cuts.length > 0) return false
  return !log.summary.some((line) => Number(line.processes_left_out ?? 0) > 0)
}
