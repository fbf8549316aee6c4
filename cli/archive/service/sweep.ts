import { rfc3339 } from '../../../src/lib/rfc3339.ts'
import type { ArchivedRun } from '../../../src/runs/archive/archived-run.ts'
import { type Retention, selectExpired } from '../../../src/runs/archive/retention.ts'
import { unseenEnd } from '../../../src/runs/archive/run-conditions.ts'
import { runPool } from '../../../src/runs/collect/pool.ts'
import type { ControllerMemory } from './controller-memory.ts'
import { PARALLEL_WRITES } from './pace.ts'
import type { RowsArchive } from './rows-archive.ts'
import type { RunClient } from './run-client.ts'
import type { RunIndex } from './run-index.ts'
import type { SweepClock } from './sweep-clock.ts'

export interface SweepOptions {
  readonly controllers: ControllerMemory
  readonly client: RunClient
  readonly index: RunIndex
  readonly retention: Retention
  readonly clock: Pick<SweepClock, 'now'>
  /** Reports whether pods of a run are remembered. @param key its `runKey` */
  isLive(key: string): boolean
  /** The rows of runs; undefined if the archive stores none. */
  readonly rows: Pick<RowsArchive, 'remove'> | undefined
  /** Ends the sweep. */
  readonly signal: AbortSignal
}

/** The maximum number of objects that a sweep changes: a longer sweep would delay other writes. */
const MAX_CHANGES = 200

/**
 * Ends the Runs whose pods were deleted while no archive watched them, and deletes the Runs that
 * are not kept any longer.
 *
 * @param now the time in milliseconds since 1970
 * @returns whether there are more of them
 * @throws ApiError, or a network error
 */
export async function sweepRuns(options: SweepOptions, now: number): Promise<boolean> {
  const { index, retention, clock, isLive, signal } = options
  const orphans = index.all().filter(({ ended, key }) => ended === undefined && !isLive(key))
  const all = selectExpired(index.all(), retention, clock.now())
  const expired = all.filter(({ key }) => !isLive(key))
  const pool = { parallel: PARALLEL_WRITES, isOrdered: false, signal, done: async () => {} }
  await runPool(orphans.slice(0, MAX_CHANGES), {
    ...pool,
    work: (run) => endOrphan(run, options, now),
  })
  await runPool(expired.slice(0, MAX_CHANGES), { ...pool, work: (run) => remove(run, options) })
  return Math.max(orphans.length, expired.length) > MAX_CHANGES
}

async function remove(run: ArchivedRun, { client, rows }: SweepOptions): Promise<void> {
  await client.delete(run)
  rows?.remove(run)
}

/** The workload may still exist, and create pods again: a suspended Job, for example. */
async function endOrphan(
  run: ArchivedRun,
  { controllers, client }: SweepOptions,
  now: number,
): Promise<void> {
  const facts = await controllers.read(run.namespace, run.workload)
  const finished = facts?.finished ?? null
  if (facts !== undefined && !facts.isGone && finished === null) return
  const ended = rfc3339(now)
  if (finished !== null) await client.end(run, { phase: finished, ended })
  else await client.end(run, { phase: 'Unknown', ended, condition: unseenEnd(ended) })
}
