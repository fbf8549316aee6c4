import { describeApiError } from '../../cluster/api-error.ts'
import { type LogAsking, readLogLines } from '../../cluster/logs.ts'
import { pause } from '../../lib/pause.ts'
import { transcribe } from '../log/transcribe.ts'
import { withAttemptBefore } from './attempts.ts'
import { describeObserver, type Gathered, type Gathering, summarizeLog } from './gather.ts'
import { type RunningObserver, sourceName } from './observers.ts'

/** The number of failed attempts, without a new line of the log in between, that end following. */
const ATTEMPTS = 5

/** The lines at the beginning of a log that tell two starts of a container apart. */
const HEAD_LINES = 16

export interface Following extends Gathering {
  readonly write: (observer: RunningObserver, text: string) => Promise<void>
  /** Returns the current state of the container; undefined once its pod is deleted. */
  readonly look: (observer: RunningObserver) => RunningObserver | undefined
  /** Milliseconds between two attempts to read a log. */
  readonly pauseMs: number
}

/**
 * Follows the log of one start of a container until the start has ended, its pod is deleted, or the
 * signal is aborted. If the connection breaks, opens a new connection, up to a maximum number of
 * attempts. Once the container is started again, reads the rest from its previous log.
 */
async function follow(observer: RunningObserver, following: Following): Promise<Gathered> {
  const { form, descriptions } = following
  const transcript = transcribe(form, describeObserver(observer), descriptions)
  const artifacts = following.artifacts?.open(observer)
  const onLine = async (line: string) => {
    await following.write(observer, transcript.push(line))
    await artifacts?.push(line)
  }
  const problem = await readToEnd(observer, following, onLine)
  const last = lastState(observer, following.look(observer))
  const status = await following.readStatus()
  const { text, done } = transcript.end({ ...last, ...status })
  const why = following.signal.aborted ? undefined : problem
  const known = { form, descriptions, status }
  const { rest, ...all } = summarizeLog(last, known, { done, rest: text, problem: why })
  await following.write(last, rest)
  return { ...all, artifacts: await artifacts?.end() }
}

/** Reads the lines of a start until its end. Returns why a part is missing, or undefined. */
async function readToEnd(
  observer: RunningObserver,
  { apiserver, look, pauseMs, signal }: Following,
  onLine: (line: string) => Promise<void>,
): Promise<string | undefined> {
  const state: FollowState = { head: [], written: 0, failures: 0 }
  let problem: string | undefined
  do {
    const previous = isReplaced(observer, look(observer))
    const asking = { follow: !previous, previous, signal }
    const reading = pass(observer, apiserver, asking, state, onLine)
    problem = await reading.then(() => undefined, describeApiError)
    if (problem === undefined && (previous || hasEnded(observer, look(observer)))) break
    state.failures += problem === undefined ? 0 : 1
    await pause(pauseMs, signal)
  } while (look(observer) !== undefined && !signal.aborted && state.failures < ATTEMPTS)
  return problem
}

interface FollowState {
  /** The first lines that were written. */
  readonly head: string[]
  /** The number of lines that were written. */
  written: number
  /** The number of failed attempts since the last new line of the log. */
  failures: number
}

/** Reports whether a container has been started again. @param now its current state */
function isReplaced({ restarts }: RunningObserver, now: RunningObserver | undefined): boolean {
  return now !== undefined && now.restarts > restarts
}

/** Reports whether a start has ended, and is still the last one of its container. */
function hasEnded(observer: RunningObserver, now: RunningObserver | undefined): boolean {
  return now?.state !== 'running' && !isReplaced(observer, now)
}

/** Returns an observer with what its pod says about this start. @param now its current state */
function lastState(observer: RunningObserver, now = observer): RunningObserver {
  const attempts = withAttemptBefore(now)
  const { state, message, ended } =
    attempts.find(({ restarts }) => restarts === observer.restarts) ?? observer
  return { ...observer, state, message, ended }
}

/**
 * Reads the log over one connection, from the beginning of the log, and skips the lines that were
 * already written. The log still has its beginning, because observers keep their logs so small that
 * the kubelet does not rotate them.
 *
 * @throws if the log is that of another start of the container, which the status of the pod may
 * not say yet
 */
async function pass(
  observer: RunningObserver,
  apiserver: Following['apiserver'],
  asking: LogAsking,
  state: FollowState,
  onLine: (line: string) => Promise<void>,
): Promise<void> {
  let seen = 0
  for await (const line of readLogLines(apiserver, observer, asking)) {
    seen += 1
    if ((state.head[seen - 1] ?? line) !== line)
      throw new Error('the container was started again, and has another log now')
    if (seen <= state.written) continue
    if (seen <= HEAD_LINES) state.head.push(line)
    state.written = seen
    state.failures = 0
    await onLine(line)
  }
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

/**
 * Follows the logs of many observers, each log as soon as its observer has started. If a container
 * is started again meanwhile, its new log is another one, which has the number of the attempt.
 */
export function startCrowd(following: Omit<Following, 'look'>): Crowd {
  let now = new Map<string, RunningObserver>()
  let done = 0
  /** The containers that are followed. */
  const containers = new Set<string>()
  /** The logs that are followed, by their containers and starts. */
  const tasks = new Map<string, Promise<Gathered>>()
  /** The attempts that ended before their containers were followed. Their logs come last. */
  const earlier = new Map<string, RunningObserver>()
  const begin = async (observer: RunningObserver): Promise<Gathered> => {
    const look = (one: RunningObserver) => now.get(containerOf(one))
    const gathered = await follow(observer, { ...following, look })
    done += 1
    return gathered
  }
  const beginLast = (observer: RunningObserver) => {
    const isAgain = containers.has(containerOf(observer))
    containers.add(containerOf(observer))
    const attempt = isAgain ? observer.restarts + 1 : observer.attempt
    tasks.set(startOf(observer), begin({ ...observer, attempt }))
  }
  return {
    take: (observers) => {
      const unread = observers.filter((one) => !tasks.has(startOf(one)))
      for (const one of unread.filter(({ isPrevious }) => isPrevious))
        earlier.set(startOf(one), one)
      const last = observers.filter(({ isPrevious }) => !isPrevious)
      now = new Map(last.map((observer) => [containerOf(observer), observer]))
      const started = unread.filter((one) => !one.isPrevious && one.state !== 'waiting')
      started.forEach(beginLast)
    },
    counts: () => ({ done, all: Math.max(now.size, tasks.size) }),
    end: async () => {
      const all = await Promise.all(tasks.values())
      if (following.signal.aborted) return all
      return [...all, ...(await Promise.all([...earlier.values()].map(begin)))]
    },
  }
}

/** Identifies the container of a log. */
function containerOf(observer: RunningObserver): string {
  return `${sourceName({ ...observer, attempt: null })} ${observer.uid}`
}

/** Identifies a start of a container, which has a log of its own. */
function startOf(observer: RunningObserver): string {
  return `${containerOf(observer)} ${observer.restarts}`
}
