import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { countFailures } from './report.ts'

/** Reports what the archive does with logs and rows, in Prometheus metrics and in the log. */
export interface RowsReport {
  /**
   * How many attempts have failed since the last success of their kind; undefined if none has.
   * Everyone who reaches the port can read it, so it names no namespace.
   */
  readonly trouble: string | undefined
  onStored(): void
  /** Is called when rows that are not kept any longer were removed, as far as there were any. */
  onSwept(): void
  /** @param message why rows could not be listed or removed */
  onSweepFailure(message: string): void
  /** @param message why a log could not be read, or the rows of a run could not be stored */
  onFailure(namespace: string, message: string): void
  /** @param message why it is not known whether a run makes progress */
  onUnknown(namespace: string, message: string): void
  onIndexed(): void
  /** @param message why an index of runs could not be written */
  onIndexFailure(message: string): void
}

/** @param countUnread returns the number of logs that are not read to their end */
export function createRowsReport(
  registry: Registry,
  log: Logger,
  countUnread: () => number,
): RowsReport {
  const stored = countAttempts(registry)
  new Gauge({
    name: 'ridealong_archive_unread_logs',
    help: 'Logs of observers that are not read to their end',
    registers: [registry],
    collect() {
      this.set(countUnread())
    },
  })
  const [storing, sweeping, indexing] = [countFailed(), countFailed(), countFailed()]
  return {
    get trouble() {
      return countFailures(storing.count + sweeping.count + indexing.count)
    },
    onStored() {
      stored.inc({ outcome: 'stored' })
      storing.end()
    },
    onSwept: sweeping.end,
    onSweepFailure(message) {
      stored.inc({ outcome: 'failed' })
      if (sweeping.fail(message))
        log.warn({ trouble: message }, 'cannot remove rows; it is tried again')
    },
    onFailure(namespace, message) {
      stored.inc({ outcome: 'failed' })
      if (storing.fail(`namespace ${namespace}: ${message}`))
        log.warn({ namespace, trouble: message }, 'cannot keep rows; it is tried again')
    },
    onUnknown(namespace, message) {
      log.warn({ namespace, trouble: message }, 'it is not known whether a run makes progress')
    },
    onIndexed: indexing.end,
    onIndexFailure(message) {
      if (indexing.fail(message))
        log.warn({ trouble: message }, 'cannot write an index of runs; it is tried again')
    },
  }
}

/** Counts the failures of one kind since its last success. */
function countFailed() {
  let count = 0
  let last: string | undefined
  return {
    get count() {
      return count
    },
    /** Notes a failure, and reports whether the failure before was another one. */
    fail(message: string): boolean {
      const isNew = message !== last
      last = message
      count += 1
      return isNew
    },
    /** Notes a success. */
    end(): void {
      last = undefined
      count = 0
    },
  }
}

function countAttempts(registry: Registry): Counter<'outcome'> {
  const stored = new Counter({
    name: 'ridealong_archive_rows_total',
    help: 'Attempts to store or remove the rows of runs and to read a log, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  for (const outcome of ['stored', 'failed']) stored.inc({ outcome }, 0)
  return stored
}
