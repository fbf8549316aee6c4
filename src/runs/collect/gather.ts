import { describeApiError } from '../../cluster/api-error.ts'
import type { Apiserver } from '../../cluster/apiserver.ts'
import { readLogLines } from '../../cluster/logs.ts'
import { ATTEMPTS, isTemporary, pauseAfter } from '../../cluster/repeat.ts'
import { pause } from '../../lib/pause.ts'
import type { Descriptions } from '../log/descriptions.ts'
import type { KnownOrigin } from '../log/metadata.ts'
import {
  type Done,
  type LogFormat,
  transcribe,
  transcribeGone,
  type WorkloadStatus,
} from '../log/transcribe.ts'
import type { ArtifactFolder, ArtifactResult } from './artifacts.ts'
import { type RunningObserver, sourceName } from './observers.ts'

/** The result of collecting one observer's log. */
export interface Gathered {
  readonly observer: RunningObserver
  readonly samples: number
  readonly cuts: readonly string[]
  /** The reason why the log, or a part of the log, is missing; undefined if the log is complete. */
  readonly missing: string | undefined
  /** Whether the text that was written is the whole text, a part because of an error, or empty. */
  readonly text: 'whole' | 'part' | 'none'
  /** The raw files of the log; undefined if they are not collected. */
  readonly artifacts: ArtifactResult | undefined
}

/** The destination of the text of one log. */
export interface LogText {
  /** Drops all text that was written, because the log is read again from its beginning. */
  readonly restart: () => Promise<void>
  readonly write: (text: string) => Promise<void>
}

export interface Gathering {
  readonly apiserver: Apiserver
  readonly form: LogFormat
  readonly descriptions: Descriptions
  readonly signal: AbortSignal
  /** The folder for raw files; undefined if they are not collected. */
  readonly artifacts: ArtifactFolder | undefined
  /** Returns how many pods of the workload are observed by now, and where its time went. */
  readonly readStatus: () => Promise<WorkloadStatus>
}

/** Returns the properties of an observer's log that were read from the pod. */
export function describeObserver(observer: RunningObserver): KnownOrigin {
  const { container: metric, namespace, pod, node, pod_index, notices, ended, podLimits } = observer
  const source = sourceName(observer)
  const attempt = observer.earlierPods + observer.restarts + 1
  return { source, metric, namespace, pod, node, pod_index, notices, ended, podLimits, attempt }
}

/**
 * Reads the current content of a log, and writes its text while the log arrives. If the apiserver
 * is overloaded or the connection breaks, the log is read again from its beginning. After the last
 * attempt, the result has the reason of the error, and the text ends where the connection broke.
 *
 * @throws an error of the destination
 */
export async function gather(
  observer: RunningObserver,
  gathering: Gathering,
  output: LogText,
): Promise<Gathered> {
  const { signal } = gathering
  let before: Attempt | undefined
  for (let attempt = 1; ; attempt += 1) {
    const read = await readOnce(observer, gathering, output)
    if (signal.aborted || !mayDiffer(read, before)) return read.gathered
    if (attempt === ATTEMPTS) return asPart(read.gathered)
    before = read
    await pause(pauseAfter(attempt, read.error), signal)
    if (signal.aborted) return read.gathered
    await output.restart()
  }
}

/** The problem of a log that has no error, see `mayDiffer`. */
const UNSTABLE = 'its end is missing, and every attempt to read it ended at another place'

function asPart(gathered: Gathered): Gathered {
  const { missing = UNSTABLE, text } = gathered
  return { ...gathered, missing, text: text === 'whole' ? 'part' : text }
}

/** An attempt to read a log. */
interface Attempt {
  readonly gathered: Gathered
  /** The error that ended the attempt; undefined if the response was complete. */
  readonly error: unknown
  /** Whether the log has the end that an observer writes, or the observer had not ended. */
  readonly isWhole: boolean
  /** The number of characters of the log. */
  readonly length: number
}

/**
 * Reports whether another attempt may have another result. If the connection between the apiserver
 * and the kubelet breaks, the apiserver ends the response as if the log were complete (apiserver
 * pkg/endpoints/handlers/responsewriters/writers.go, StreamObject). Therefore a log without its end
 * is read again until two attempts have the same length.
 */
function mayDiffer({ error, isWhole, length }: Attempt, before: Attempt | undefined): boolean {
  if (error !== undefined) return isTemporary(error)
  return !isWhole && (before === undefined || before.length !== length)
}

async function readOnce(
  observer: RunningObserver,
  gathering: Gathering,
  output: LogText,
): Promise<Attempt> {
  const { apiserver, form, descriptions, signal } = gathering
  const transcript = transcribe(form, describeObserver(observer), descriptions)
  const artifacts = gathering.artifacts?.open(observer)
  const lines = readLogLines(apiserver, observer, {
    follow: false,
    previous: observer.isPrevious,
    signal,
  })
  const { length, error } = await readAll(lines, async (line) => {
    await output.write(transcript.push(line))
    await artifacts?.push(line)
  })
  const status = await gathering.readStatus()
  const { text, done } = transcript.end({ ...observer, ...status })
  const problem = error === undefined ? undefined : describeApiError(error)
  const known = { form, descriptions, status }
  const { rest, ...all } = summarizeLog(observer, known, { done, rest: text, problem })
  if (done.foreign !== undefined) await output.restart()
  await output.write(rest)
  const hasEnd = done.foreign === undefined && done.cuts.length === 0
  const isWhole = hasEnd || observer.state !== 'ended'
  return { gathered: { ...all, artifacts: await artifacts?.end() }, error, isWhole, length }
}

/** Reads all lines. Returns an error of the log, and throws an error of `take`. */
async function readAll(
  lines: AsyncGenerator<string>,
  take: (line: string) => Promise<void>,
): Promise<Pick<Attempt, 'length' | 'error'>> {
  let length = 0
  try {
    for (;;) {
      const next = await lines.next().catch((error: unknown) => ({ error }))
      if ('error' in next) return { length, error: next.error }
      if (next.done) return { length, error: undefined }
      length += next.value.length + 1
      await take(next.value)
    }
  } finally {
    await lines.return(undefined)
  }
}

/** The result of a log, and the rest of its text, which must still be written. */
export interface LogSummary extends Gathered {
  readonly rest: string
}

/** The format in which a log is written, and the status of its workload. */
interface LogFormatAndStatus extends Pick<Gathering, 'form' | 'descriptions'> {
  readonly status: WorkloadStatus
}

/** A log that was read. */
interface ReadLog {
  readonly done: Done
  /** The text for the end of the log. */
  readonly rest: string
  /** Why a part is missing; undefined if none is. */
  readonly problem: string | undefined
}

/**
 * Returns the result of reading a log. If the log contains no output of an observer, the summary of
 * the observer is read from the termination message of the container.
 */
export function summarizeLog(
  observer: RunningObserver,
  { form, descriptions, status }: LogFormatAndStatus,
  { done: { samples, cuts, foreign }, rest, problem }: ReadLog,
): LogSummary {
  const result = { observer, samples, artifacts: undefined }
  if (foreign === undefined) {
    const read = problem === undefined ? 'whole' : 'part'
    return { ...result, cuts, missing: problem, text: read, rest }
  }
  const known = { ...describeObserver(observer), ...status }
  const left = transcribeGone(form, known, descriptions, observer.message)
  const source = left === '' ? '' : '; its summary was read from the termination message'
  const missing = `${problem ?? describeForeign(foreign)}${source}`
  return { ...result, cuts: [], missing, text: left === '' ? 'none' : 'whole', rest: left }
}

function describeForeign(first: string): string {
  return first === ''
    ? 'its log is empty'
    : `its log does not come from an observer: ${first.slice(0, 160)}`
}

/**
 * Runs `work` for each item, with up to `parallel` items at a time, and yields the results in the
 * order of the items.
 */
export async function* inOrder<Item, Result>(
  items: readonly Item[],
  parallel: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  for (const item of items) {
    running.push(work(item))
    const first = running.length < parallel ? undefined : running.shift()
    if (first !== undefined) yield await first
  }
  for (const result of running) yield await result
}
