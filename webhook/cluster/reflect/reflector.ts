import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { type Intervals, jittered } from '../backoff.ts'
import type { StoredObject } from './item.ts'
import { list } from './list.ts'
import type { Store } from './store.ts'
import { Broken, watch } from './watch.ts'

/** A collection that is kept in step with the apiserver. It keeps what it has when that fails. */
export interface Reflector {
  /** Whether all has been listed once. */
  readonly isListed: boolean
  /** When the collection was last known to be as the apiserver has it, by performance.now(). */
  readonly inStepAt: number
  /** What stands in the way; undefined while nothing does. */
  readonly trouble: string | undefined
  stop(): void
}

export interface ReflectorOptions {
  readonly api: Apiserver
  readonly path: string
  /** Of the objects' labels; all of them without one. */
  readonly selector?: string | undefined
  readonly collection: Store
  readonly pace: Intervals
  itemOf(object: unknown): StoredObject
  /** Called when trouble begins or changes, not at every attempt; what lasts fails again at once. */
  onTrouble(trouble: string, isLasting: boolean): void
}

/** What has been taken in, and when all is to be listed anew. */
interface Position {
  resourceVersion: string
  readonly listAt: number
}

interface ReflectorState {
  isListed: boolean
  inStepAt: number
  trouble: string | undefined
  position: Position | undefined
  /** The next pause after a failure. */
  pauseMs: number
}

/**
 * Lists, watches for some minutes, and so on for ever. A watch that broke goes on from where it was;
 * after anything else that goes wrong all is listed anew, whatever it was: a lost event, a 410, a
 * stall, an apiserver that was restored from a backup.
 */
export function startReflector(options: ReflectorOptions): Reflector {
  const { pace, onTrouble } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const state: ReflectorState = {
    isListed: false,
    inStepAt: performance.now(),
    trouble: undefined,
    position: undefined,
    pauseMs: pace.pauseMs,
  }
  const turn = async () => {
    if (!isFresh(state.position)) state.position = await takeList(options, state, signal)
    await takeWatch(state.position, options, state, signal)
  }
  const recover = (error: unknown) => {
    signal.throwIfAborted()
    if (!(error instanceof Broken)) state.position = undefined
    const trouble = errorMessage(error)
    if (trouble !== state.trouble) onTrouble(trouble, state.trouble !== undefined)
    state.trouble = trouble
    const pause = jittered(state.pauseMs)
    state.pauseMs = Math.min(state.pauseMs * 2, pace.longestPauseMs)
    return sleep(pause, undefined, { signal, ref: false })
  }
  const follow = async () => {
    while (true) await turn().catch(recover)
  }
  // It ends only when it is stopped.
  follow().catch(() => {})
  return {
    get isListed() {
      return state.isListed
    },
    get inStepAt() {
      return state.inStepAt
    },
    get trouble() {
      return state.trouble
    },
    stop: () => stopped.abort(),
  }
}

function isFresh(position: Position | undefined): position is Position {
  return position !== undefined && performance.now() < position.listAt
}

async function takeList(options: ReflectorOptions, state: ReflectorState, signal: AbortSignal) {
  const { api, path, selector, itemOf, collection, pace } = options
  const start = performance.now()
  const { items, resourceVersion } = await list({
    ...{ api, path, selector, itemOf, answerMs: pace.answerMs, signal },
  })
  collection.settleAll(items, resourceVersion)
  state.isListed = true
  beInStep(state, start, pace)
  return { resourceVersion, listAt: performance.now() + jittered(pace.relistMs) }
}

/** @throws Broken when it ends before its time */
async function takeWatch(
  position: Position,
  { api, path, selector, itemOf, collection, pace }: ReflectorOptions,
  state: ReflectorState,
  signal: AbortSignal,
) {
  const { resourceVersion, listAt } = position
  const seconds = (listAt - performance.now()) / 1000
  const { silenceMs } = pace
  const where = { api, path, selector, resourceVersion }
  for await (const event of watch({ ...where, seconds, silenceMs, signal })) {
    if (event.type === 'DELETED') collection.remove(itemOf(event.object))
    else if (event.type !== 'BOOKMARK') collection.put(itemOf(event.object))
    position.resourceVersion = event.resourceVersion
    beInStep(state, performance.now(), pace)
    // An apiserver that forgets to end a watch must not keep it from being checked.
    if (!isFresh(position)) return
  }
  if (isFresh(position)) throw new Broken('the apiserver ended a watch before its time')
}

function beInStep(state: ReflectorState, at: number, { pauseMs }: Intervals): void {
  state.inStepAt = at
  state.trouble = undefined
  state.pauseMs = pauseMs
}
