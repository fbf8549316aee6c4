import { errorMessage } from '../../lib/error-message.ts'
import { type Backoff, backoffMs, jittered, pauseInBackground } from '../../lib/pause.ts'
import type { Apiserver } from '../apiserver.ts'
import { list, PAGE, SMALL_PAGE } from './list.ts'
import { Broken, watch } from './watch.ts'

/** Keeps a store up to date with the apiserver. If an update fails, the store keeps its content. */
export interface Reflector {
  /** Whether all objects have been listed once. */
  readonly isListed: boolean
  /**
   * The last time at which the store was known to match the apiserver, by performance.now(). Before
   * the first list, the time at which the reflector started.
   */
  readonly inStepAt: number
  /** The error message of the last attempt; undefined if that attempt succeeded. */
  readonly trouble: string | undefined
  stop(): void
}

/** Intervals and timeouts in milliseconds, and the pauses after failures. */
export interface ReflectorPace extends Backoff {
  /**
   * The longest time until all objects of a resource are listed again. The new list includes any
   * change that a watch has missed.
   */
  readonly relistMs: number
  /**
   * The time without events after which a watch counts as stalled. An idle watch gets a bookmark
   * every minute.
   */
  readonly silenceMs: number
  /** The timeout for one page of a list. */
  readonly answerMs: number
}

/** The objects that a reflector keeps up to date. */
export interface Collection<Item> {
  /** Stores an object from a watch, unless a later version is already stored. */
  put(item: Item): void
  /** Removes an object, unless a later version is stored. */
  remove(item: Item): void
  /** Replaces all objects with a list that was read at a resourceVersion. */
  settleAll(listed: readonly Item[], resourceVersion: string): void
}

export interface ReflectorOptions<Item> {
  readonly api: Apiserver
  readonly path: string
  /** A label selector; all objects if undefined. */
  readonly selector?: string | undefined
  readonly collection: Collection<Item>
  readonly pace: ReflectorPace
  /** Selects the fields of an object to keep. An object without a result is dropped. */
  itemOf(object: unknown): Item | undefined
  /**
   * Called at the first and second failure in a row, and then whenever the message changes.
   * `isLasting` is true from the second failure in a row.
   */
  onTrouble(trouble: string, isLasting: boolean): void
}

/** The last resourceVersion that was stored, and the time at which to list all objects again. */
interface Position {
  resourceVersion: string
  readonly listAt: number
}

interface ReflectorState {
  isListed: boolean
  inStepAt: number
  trouble: string | undefined
  /** The number of failures since the store last matched the apiserver. */
  failures: number
  position: Position | undefined
  /** The number of objects per page of a list. */
  limit: typeof PAGE | typeof SMALL_PAGE
}

/**
 * Lists the objects, watches them for some minutes, and repeats, so that a lost event is repaired
 * by the next list. A broken watch continues from its last resourceVersion. After any other error,
 * such as a 410 or a stalled watch, all objects are listed again.
 */
export function startReflector<Item>(options: ReflectorOptions<Item>): Reflector {
  const { pace, onTrouble } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const state: ReflectorState = {
    isListed: false,
    inStepAt: performance.now(),
    trouble: undefined,
    failures: 0,
    position: undefined,
    limit: PAGE,
  }
  const turn = async () => {
    if (!isFresh(state.position)) state.position = await takeList(options, state, signal)
    await takeWatch(state.position, options, state, signal)
  }
  const recover = (error: unknown) => {
    signal.throwIfAborted()
    if (!(error instanceof Broken)) state.position = undefined
    const trouble = errorMessage(error)
    state.failures += 1
    if (state.failures === 2 || trouble !== state.trouble) onTrouble(trouble, state.failures > 1)
    state.trouble = trouble
    return pauseInBackground(jittered(backoffMs(pace, state.failures - 1)), signal)
  }
  const follow = async () => {
    while (true) await turn().catch(recover)
  }
  // The loop ends only when the reflector is stopped.
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

async function takeList<Item>(
  options: ReflectorOptions<Item>,
  state: ReflectorState,
  signal: AbortSignal,
) {
  const { api, path, selector, itemOf, collection, pace } = options
  const start = performance.now()
  const { answerMs } = pace
  const { limit } = state
  const listed = list({ api, path, selector, itemOf, answerMs, limit, signal })
  const { items, resourceVersion } = await listed.catch((error: unknown) => {
    // A whole page of large objects would be late again.
    if (isTimeout(error)) state.limit = SMALL_PAGE
    throw error
  })
  collection.settleAll(items, resourceVersion)
  state.isListed = true
  beInStep(state, start)
  return { resourceVersion, listAt: performance.now() + jittered(pace.relistMs) }
}

/** The error of `AbortSignal.timeout`. */
function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

/** @throws Broken if the watch ends too early, or another error of `watch` */
async function takeWatch<Item>(
  position: Position,
  { api, path, selector, itemOf, collection, pace }: ReflectorOptions<Item>,
  state: ReflectorState,
  signal: AbortSignal,
) {
  const { resourceVersion, listAt } = position
  const seconds = (listAt - performance.now()) / 1000
  const { silenceMs } = pace
  const where = { api, path, selector, resourceVersion }
  for await (const event of watch({ ...where, seconds, silenceMs, signal })) {
    if (event.type !== 'BOOKMARK') apply(event.type, itemOf(event.object), collection)
    position.resourceVersion = event.resourceVersion
    beInStep(state, performance.now())
    // Return even if the apiserver does not end the watch in time, so that all objects are listed
    // again.
    if (!isFresh(position)) return
  }
  if (isFresh(position)) throw new Broken('the apiserver ended a watch too early')
}

function apply<Item>(type: string, item: Item | undefined, collection: Collection<Item>): void {
  if (item === undefined) return
  if (type === 'DELETED') collection.remove(item)
  else collection.put(item)
}

function beInStep(state: ReflectorState, at: number): void {
  state.inStepAt = at
  state.trouble = undefined
  state.failures = 0
}
