import { describeApiError } from '../../cluster/api-error.ts'
import { readLogLines } from '../../cluster/logs.ts'
import { pause } from '../../lib/pause.ts'
import { transcribe } from '../log/transcribe.ts'
import { isEarlier } from './attempts.ts'
import { describeObserver, type Gathered, type Gathering, summarizeLog } from './gather.ts'
import { type RunningObserver, sourceName } from './observers.ts'

/** The number of failed attempts, without a new line of the log in between, that end following. */
const ATTEMPTS = 5

export interface Following extends Gathering {
  readonly write: (observer: RunningObserver, text: string) => Promise<void>
  /** Returns the current state of the observer; undefined once its pod is deleted. */
  readonly look: (observer: RunningObserver) => RunningObserver | undefined
  /** Milliseconds between two attempts to read a log. */
  readonly pauseMs: number
}

/**
 * Follows a log until its container has ended, its pod is deleted, or the signal is aborted. If the
 * connection breaks, opens a new connection, up to a maximum number of attempts.
 */
export async function follow(observer: RunningObserver, following: Following): Promise<Gathered> {
  const { form, descriptions, signal, look, pauseMs } = following
  const transcript = transcribe(form, describeObserver(observer), descriptions)
  const state = { written: 0, failures: 0 }
  const artifacts = following.artifacts?.open(observer)
  const onLine = async (line: string) => {
    await following.write(observer, transcript.push(line))
    await artifacts?.push(line)
  }
  let problem: string | undefined
  do {
    problem = await pass(observer, following, state, onLine).then(() => undefined, describeApiError)
    if (problem !== undefined) state.failures += 1
    if (isOver(look(observer), problem)) break
    await pause(pauseMs, signal)
  } while (!signal.aborted && state.failures < ATTEMPTS)
  const now = look(observer) ?? observer
  const { text, done } = transcript.end({ ...now, observedPods: following.observedPods() })
  const why = signal.aborted ? undefined : problem
  const { rest, ...all } = summarizeLog(now, following, done, text, why)
  await following.write(now, rest)
  return { ...all, artifacts: await artifacts?.end() }
}

interface FollowState {
  /** The number of lines that were written. */
  written: number
  /** The number of failed attempts since the last new line of the log. */
  failures: number
}

/**
 * Reads the log over one connection, from the beginning of the log, and skips the lines that were
 * already written. The log still has its beginning, because observers keep their logs so small that
 * the kubelet does not rotate them.
 */
async function pass(
  observer: RunningObserver,
  { apiserver, signal }: Following,
  state: FollowState,
  onLine: (line: string) => Promise<void>,
): Promise<void> {
  const asking = { follow: true, previous: isEarlier(observer), signal }
  let seen = 0
  for await (const line of readLogLines(apiserver, observer, asking)) {
    seen += 1
    if (seen <= state.written) continue
    state.written = seen
    state.failures = 0
    await onLine(line)
  }
}

function isOver(observer: RunningObserver | undefined, problem: string | undefined): boolean {
  if (observer === undefined) return true
  return observer.state !== 'running' && problem === undefined
}

/** The logs that are followed at the same time. */
export interface Crowd {
  /**
   * Sets the current observers. Starts to follow the observers that have started and are not yet
   * followed.
   */
  readonly take: (observers: readonly RunningObserver[]) => void
  readonly counts: () => { readonly done: number; readonly all: number }
  /** Waits until no log is followed any more. */
  readonly end: () => Promise<readonly Gathered[]>
}

/** Follows the logs of many observers, each log as soon as its observer has started. */
export function startCrowd(following: Omit<Following, 'look'>): Crowd {
  let now = new Map<string, RunningObserver>()
  let done = 0
  const tasks = new Map<string, Promise<Gathered>>()
  /** The attempts that ended before their containers were followed. Their logs come last. */
  const earlier = new Map<string, RunningObserver>()
  const begin = async (observer: RunningObserver): Promise<Gathered> => {
    const look = (one: RunningObserver) => now.get(keyOf(one))
    const gathered = await follow(observer, { ...following, look })
    done += 1
    return gathered
  }
  return {
    take: (observers) => {
      // The log of an attempt that ended while it was followed has been written.
      const isFollowed = (one: RunningObserver) => tasks.has(keyOf({ ...one, attempt: null }))
      const unread = observers.filter((one) => isEarlier(one) && !isFollowed(one))
      for (const one of unread) earlier.set(keyOf(one), one)
      const last = observers.filter((one) => !isEarlier(one))
      now = new Map(last.map((observer) => [keyOf(observer), observer]))
      const started = last.filter((one) => one.state !== 'waiting' && !tasks.has(keyOf(one)))
      for (const observer of started) tasks.set(keyOf(observer), begin(observer))
    },
    counts: () => ({ done, all: Math.max(now.size, tasks.size) }),
    end: async () => {
      const all = await Promise.all(tasks.values())
      if (following.signal.aborted) return all
      return [...all, ...(await Promise.all([...earlier.values()].map(begin)))]
    },
  }
}

function keyOf(observer: RunningObserver): string {
  return `${sourceName(observer)} ${observer.uid}`
}
