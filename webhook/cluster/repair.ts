import { ApiError } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import type { Store } from '../../src/cluster/reflect/store.ts'
import { type Rearming, rearm } from '../../src/core/namespaces/repair-label.ts'
import { endsMove, readMovedFrom } from '../../src/core/namespaces/revision.ts'
import { jittered, pauseInBackground } from '../../src/lib/pause.ts'
import type { Intervals } from './intervals.ts'

/**
 * The outcomes of a repair. `overtaken` means that the namespace was changed or deleted in the
 * meantime, and the repair did nothing.
 */
export const REPAIR_OUTCOMES = [
  'armed',
  'disarmed',
  'settled',
  'overtaken',
  'forbidden',
  'failed',
] as const
export type RepairOutcome = (typeof REPAIR_OUTCOMES)[number]

export interface RepairOptions {
  readonly api: Apiserver
  readonly namespaces: Store
  readonly excludedNamespaces: ReadonlySet<string>
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  readonly pace: Intervals
  onOutcome(name: string, outcome: RepairOutcome, error?: unknown): void
}

/**
 * Corrects the label `ridealong.dev/armed` of namespaces that changed without a review, and removes
 * the label `ridealong.dev/moved-from` a while after a namespace was moved to another release.
 */
export interface Repairs {
  /** Must be called for each namespace that has changed. A wrong label is repaired soon. */
  consider(name: string): void
  stop(): void
}

/**
 * Repairs labels one after the other, at a limited rate, and checks all namespaces every few
 * minutes.
 *
 * Each namespace is checked again just before its repair, since another replica may have repaired
 * it. After a failure, the remaining repairs wait for the next check of all namespaces: if a repair
 * is forbidden or the apiserver is unreachable, the other repairs would fail too.
 */
export function repairLabels(options: RepairOptions): Repairs {
  const { namespaces, excludedNamespaces, revision, pace } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const due = new Set<string>()
  let isWorking = false
  const work = async () => {
    await pauseInBackground(jittered(pace.repairSoonMs), signal)
    for (const name of due) {
      due.delete(name)
      if (needed(name) === undefined) continue
      if (!(await repair(name, needed, options, signal))) due.clear()
      await pauseInBackground(1000 / pace.repairsPerSecond, signal)
    }
    // The loop has just found no more names, in the same turn of the event loop, so no name is
    // missed.
    isWorking = false
  }
  const needed = (name: string) => {
    const [namespace] = namespaces.of(name)
    const isMoveOver = moves.isOver(name)
    return namespace && rearm(namespace.object, { excludedNamespaces, revision, isMoveOver })
  }
  const consider = (name: string) => {
    moves.note(name, namespaces.of(name)[0]?.object)
    if (signal.aborted || needed(name) === undefined) return
    due.add(name)
    if (isWorking) return
    isWorking = true
    // The promise rejects only when the repairs are stopped.
    work().catch(() => {})
  }
  const passes = async () => {
    while (true) {
      await pauseInBackground(jittered(pace.repairMs), signal)
      for (const name of namespaces.namespaces()) consider(name)
    }
  }
  const moves = trackMoves({ revision, moveMs: pace.moveMs, onOver: consider })
  passes().catch(() => {})
  return {
    consider,
    stop() {
      moves.stop()
      stopped.abort()
    },
  }
}

/**
 * Repairs the labels of one namespace.
 *
 * @param needed returns the repair that a namespace needs now, if any
 * @returns true if the next repair should be attempted
 */
async function repair(
  name: string,
  needed: (name: string) => Rearming | undefined,
  { api, pace, onOutcome }: RepairOptions,
  stopped: AbortSignal,
): Promise<boolean> {
  const rearming = needed(name)
  if (rearming === undefined) return true
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(pace.answerMs)])
  try {
    await api.ask({
      path: `/api/v1/namespaces/${name}`,
      query: { fieldManager: 'ridealong' },
      patch: rearming.patch,
      signal,
    })
    onOutcome(name, rearming.outcome)
    return true
  } catch (error) {
    if (stopped.aborted) return false
    const outcome = classifyOutcome(error)
    onOutcome(name, outcome, error)
    return outcome === 'overtaken'
  }
}

function classifyOutcome(error: unknown): RepairOutcome {
  const status = error instanceof ApiError ? error.status : 0
  if (status === 404 || status === 409) return 'overtaken'
  return status === 403 ? 'forbidden' : 'failed'
}

interface MoveOptions {
  /** The revision of this release; undefined for the default release. */
  readonly revision: string | undefined
  /** The time for which a namespace keeps the label `ridealong.dev/moved-from`. */
  readonly moveMs: number
  /** Called with the name of a namespace when the label should be removed. */
  onOver(name: string): void
}

/** The namespaces that were moved to or from this release a short time ago. */
interface Moves {
  /**
   * Must be called for each namespace that has changed.
   *
   * @param object the Namespace; undefined if it was deleted
   */
  note(name: string, object: unknown): void
  /** Reports whether this server has seen the current label for `moveMs`. */
  isOver(name: string): boolean
  stop(): void
}

/**
 * Tracks how long this server has seen the label `ridealong.dev/moved-from` of each namespace. The
 * time begins when the label arrives through the watch, which is later than the move, so clocks
 * need not agree. A new server begins again.
 */
function trackMoves({ revision, moveMs, onOver }: MoveOptions): Moves {
  const moves = new Map<string, { readonly from: string; readonly timer: NodeJS.Timeout }>()
  const over = new Set<string>()
  const forget = (name: string) => {
    clearTimeout(moves.get(name)?.timer)
    moves.delete(name)
    over.delete(name)
  }
  const end = (name: string) => {
    over.add(name)
    onOver(name)
  }
  return {
    note(name, object) {
      const from = endsMove(object, revision) ? readMovedFrom(object) : undefined
      if (from === moves.get(name)?.from) return
      forget(name)
      if (from === undefined) return
      moves.set(name, { from, timer: setTimeout(end, moveMs, name).unref() })
    },
    isOver: (name) => over.has(name),
    stop() {
      for (const name of moves.keys()) forget(name)
    },
  }
}
