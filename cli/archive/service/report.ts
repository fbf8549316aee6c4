import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'

/** The state of the archive, as its Prometheus metrics show it. */
export interface ArchiveState {
  /** The number of remembered pods, and of runs that are not archived yet. */
  readonly pods: number
  readonly runs: number
  /** The seconds for which the oldest change waits to be written, after it was due. */
  readonly behind: number
  /** The seconds since the oldest watch was last known to be up to date. */
  readonly watchAge: number
}

/** Reports what the archive does in Prometheus metrics and in the log. */
export interface ArchiveReport {
  /**
   * How many attempts have failed since all runs could be written; undefined if none has. Everyone
   * who reaches the port can read it, so it names no namespace.
   */
  readonly trouble: string | undefined
  onTroubleOf(resource: string): (trouble: string, isLasting: boolean) => void
  onWritten(): void
  /** @param message why a Run or an Event could not be written */
  onFailure(namespace: string, message: string): void
  /** Is called when no run waits for another attempt. */
  onRepaired(): void
  onGivenUp(namespace: string, message: string): void
  onForbidden(resource: string): void
}

export function createArchiveReport(
  registry: Registry,
  log: Logger,
  current: () => ArchiveState,
): ArchiveReport {
  showState(registry, current)
  const writes = new Counter({
    name: 'ridealong_archive_writes_total',
    help: 'Attempts to write a Run and its Events, by outcome; given-up runs have no Run',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  for (const outcome of ['written', 'failed', 'given-up']) writes.inc({ outcome }, 0)
  /** The last failure of each namespace: one that repeats is logged once. */
  const failures = new Map<string, string>()
  let failed = 0
  return {
    get trouble() {
      return countFailures(failed)
    },
    onTroubleOf: (resource) => (message, isLasting) => {
      log[isLasting ? 'warn' : 'info']({ resource, trouble: message }, 'cannot update the watch')
    },
    onWritten: () => writes.inc({ outcome: 'written' }),
    onFailure(namespace, message) {
      writes.inc({ outcome: 'failed' })
      failed += 1
      if (failures.get(namespace) === message) return
      failures.set(namespace, message)
      log.warn({ namespace, trouble: message }, 'cannot write a Run; it is tried again')
    },
    onRepaired() {
      failed = 0
      failures.clear()
    },
    onGivenUp(namespace, message) {
      writes.inc({ outcome: 'given-up' })
      log.error({ namespace, trouble: message }, 'a run that has ended gets no Run')
    },
    onForbidden(resource) {
      log.warn({ resource }, 'may not read a kind of workload; its runs have other names')
    },
  }
}

/** Returns a sentence about failures that names nothing; undefined if there are none. */
export function countFailures(failed: number): string | undefined {
  return failed === 0 ? undefined : `failed attempts: ${failed}; the log has the reasons`
}

function showState(registry: Registry, current: () => ArchiveState): void {
  const show = (name: string, help: string, read: (state: ArchiveState) => number) =>
    new Gauge({
      name: `ridealong_archive_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read(current()))
      },
    })
  show('pods', 'Pods of runs that are remembered', ({ pods }) => pods)
  show('runs', 'Runs that go on, or ended a short time ago', ({ runs }) => runs)
  show('behind_seconds', 'How long the oldest change is overdue', ({ behind }) => behind)
  show(
    'watch_age_seconds',
    'Seconds since the oldest watch was last known to be up to date; 60 or less is normal',
    ({ watchAge }) => watchAge,
  )
}
