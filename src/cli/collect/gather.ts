import type { Apiserver } from '../../cluster/apiserver.ts'
import { readLogLines } from '../../cluster/logs.ts'
import type { RunningObserver } from '../../collect/observers.ts'
import type { Descriptions } from '../../log/descriptions.ts'
import type { ObservedRanks } from '../../log/entry.ts'
import type { KnownOrigin } from '../../log/metadata.ts'
import { type Done, type LogFormat, transcribe, transcribeGone } from '../../log/transcribe.ts'
import { describeRefusal } from '../shared/refusal.ts'
import { sourceName } from '../shared/workload-pods.ts'
import type { ArtifactFolder, ArtifactResult } from './artifacts.ts'

/** The result of collecting one observer's log. */
export interface Gathered {
  readonly observer: RunningObserver
  readonly samples: number
  readonly cuts: readonly string[]
  /** The reason why the log, or a part of the log, is missing; undefined if the log is complete. */
  readonly missing: string | undefined
  /** The raw files of the log; undefined if they are not collected. */
  readonly artifacts: ArtifactResult | undefined
  /** The text that the caller must still write to the output. */
  readonly text: string
}

export interface Gathering {
  readonly apiserver: Apiserver
  readonly form: LogFormat
  readonly descriptions: Descriptions
  readonly signal: AbortSignal
  /** The folder for raw files; undefined if they are not collected. */
  readonly artifacts: ArtifactFolder | undefined
  /** Returns how many ranks are observed; see `LogEntry`. */
  readonly observedRanks: () => ObservedRanks | null
}

/** Returns the properties of an observer's log that were read from the pod. */
export function describeObserver(observer: RunningObserver): KnownOrigin {
  const { container: metric, namespace, pod, node, rank, notices, ended } = observer
  return { source: sourceName(observer), metric, namespace, pod, node, rank, notices, ended }
}

/**
 * Reads the current content of a log. After an error, returns the lines that were read so far, and
 * the reason of the error.
 */
export async function gather(observer: RunningObserver, gathering: Gathering): Promise<Gathered> {
  const { apiserver, form, descriptions, signal } = gathering
  const transcript = transcribe(form, describeObserver(observer), descriptions)
  const artifacts = gathering.artifacts?.open(observer)
  const texts: string[] = []
  let problem: string | undefined
  try {
    for await (const line of readLogLines(apiserver, observer, { follow: false, signal })) {
      texts.push(transcript.push(line))
      await artifacts?.push(line)
    }
  } catch (error) {
    problem = describeRefusal(error)
  }
  const { text, done } = transcript.end({ ...observer, observedRanks: gathering.observedRanks() })
  const all = summarizeLog(observer, gathering, done, texts.join('') + text, problem)
  return { ...all, artifacts: await artifacts?.end() }
}

/**
 * Returns the result of reading a log. If the log contains no output of an observer, the summary of
 * the observer is read from the termination message of the container.
 */
export function summarizeLog(
  observer: RunningObserver,
  { form, descriptions, observedRanks }: Pick<Gathering, 'form' | 'descriptions' | 'observedRanks'>,
  { samples, cuts, foreign }: Done,
  text: string,
  problem: string | undefined,
): Gathered {
  const artifacts = undefined
  if (foreign === undefined) return { observer, samples, cuts, missing: problem, artifacts, text }
  const known = { ...describeObserver(observer), observedRanks: observedRanks() }
  const left = transcribeGone(form, known, descriptions, observer.message)
  const rest = left === '' ? '' : '; its summary was read from the termination message'
  const missing = `${problem ?? describeForeign(foreign)}${rest}`
  return { observer, samples, cuts: [], missing, artifacts, text: left }
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
