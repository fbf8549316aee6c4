import type { Apiserver } from '../../cluster/apiserver.ts'
import { countRanks } from '../../collect/observed-ranks.ts'
import type { PodOfObservers, RunningObserver } from '../../collect/observers.ts'
import { listColumns } from '../../log/columns.ts'
import type { Descriptions } from '../../log/descriptions.ts'
import type { ObservedRanks } from '../../log/entry.ts'
import { describeObservedRanks } from '../../log/observed-ranks.ts'
import type { LogFormat } from '../../log/transcribe.ts'
import { csvHeader } from '../../log/write.ts'
import { EXIT, UsageError } from '../shared/errors.ts'
import { type Progress, startProgress } from '../shared/progress.ts'
import {
  type FindPods,
  findWorkloadPods,
  noticeSentences,
  sourceName,
  type WorkloadOptions,
} from '../shared/workload-pods.ts'
import { type ArtifactFolder, openArtifactFolder } from './artifacts.ts'
import { type Destination, openDestination } from './destination.ts'
import { pause, startCrowd } from './follow.ts'
import { type Gathered, gather, inOrder } from './gather.ts'

export interface CollectOptions extends WorkloadOptions {
  readonly output: LogFormat
  readonly to?: string
  readonly follow?: boolean
  readonly parallel: number
}

/** Milliseconds between two requests for the list of pods. */
const LOOK_MS = 2000

/**
 * Runs `ridealong collect KIND/NAME`: collects the logs of all observers of a workload.
 *
 * @returns the exit code: EXIT.no if a log is missing; EXIT.trouble if all logs are missing and no
 * samples were read; otherwise EXIT.ok
 * @throws UsageError if the command line, the cluster or the destination has a problem
 */
export async function collect(
  workload: string | undefined,
  options: CollectOptions,
  say: (sentence: string) => void,
): Promise<number> {
  const artifacts = options.output === 'artifacts' ? openArtifactFolder(options.to) : undefined
  const found = await findWorkloadPods(workload, options)
  const { apiserver, words, pods, find, descriptions, problem } = found
  const header = options.output === 'csv' ? csvHeader([...listColumns(descriptions).keys()]) : ''
  const destination = await openDestination(options.to, options.output, header)
  if (options.follow && options.output === 'logs' && !destination.isFolder)
    throw new UsageError(
      '--follow with --output logs needs a folder, so that logs do not mix: use --to DIR/',
    )
  const work = { apiserver, words, pods, find, options, descriptions, destination, artifacts }
  const { gathered, observedRanks } = await gatherAll(work)
  const observers = gathered.map(({ observer }) => observer)
  noticeSentences(observers, problem).forEach(say)
  if (observedRanks !== null) say(describeObservedRanks(observedRanks))
  return artifacts === undefined
    ? tell(gathered, options, say)
    : tellArtifacts(gathered, options, say)
}

interface Work {
  readonly apiserver: Apiserver
  /** The name of the workload. */
  readonly words: string
  readonly pods: readonly PodOfObservers[]
  readonly find: FindPods
  readonly options: CollectOptions
  readonly descriptions: Descriptions
  readonly destination: Destination
  readonly artifacts: ArtifactFolder | undefined
}

/** The results of all logs, and how many ranks of the workload are observed. */
interface GatheredRun {
  readonly gathered: readonly Gathered[]
  readonly observedRanks: ObservedRanks | null
}

async function gatherAll(work: Work): Promise<GatheredRun> {
  const { destination, options } = work
  const interrupted = new AbortController()
  const stop = () => interrupted.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const progress = startProgress()
  let isGood = false
  try {
    const gathering = options.follow ? followAll : gatherOnce
    const run = await gathering(work, progress, interrupted.signal)
    isGood = run.gathered.some(({ missing, samples }) => missing === undefined || samples > 0)
    return run
  } finally {
    progress.clear()
    await destination.close(isGood)
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

async function gatherOnce(
  { apiserver, words, pods, options, descriptions, destination, artifacts }: Work,
  progress: Progress,
  signal: AbortSignal,
): Promise<GatheredRun> {
  const observers = pods.flatMap((pod) => pod.observers)
  const observedRanks = countRanks(pods, words)
  const shared = { apiserver, descriptions, signal, artifacts }
  const gathering = { ...shared, form: options.output, observedRanks: () => observedRanks }
  const all: Gathered[] = []
  let samples = 0
  const results = inOrder(observers, options.parallel, (one) => gather(one, gathering))
  for await (const { text, ...gathered } of results) {
    await destination.write(logName(gathered.observer), text)
    all.push({ ...gathered, text: '' })
    samples += gathered.samples
    progress.show(all.length, observers.length, `${samples} samples`)
  }
  return { gathered: all, observedRanks }
}

async function followAll(
  { apiserver, words, pods, find, options, descriptions, destination, artifacts }: Work,
  progress: Progress,
  signal: AbortSignal,
): Promise<GatheredRun> {
  const write = (observer: RunningObserver, text: string) => {
    return destination.write(logName(observer), text)
  }
  const form = options.output
  let now = pods
  let counted = countRanks(pods, words)
  const shared = { apiserver, descriptions, signal, artifacts, observedRanks: () => counted }
  const following = { ...shared, form, write, pauseMs: LOOK_MS }
  const crowd = startCrowd(following, ({ observer, text }) => write(observer, text))
  while (!signal.aborted) {
    crowd.take(now.flatMap((pod) => pod.observers))
    const { done, all } = crowd.counts()
    progress.show(done, all, 'following')
    if (done === all && now.every((pod) => pod.isOver)) break
    await pause(LOOK_MS, signal)
    // If the list fails, for example while the apiserver restarts, the previous list is kept until
    // the next attempt. Each log reconnects separately.
    now = await find().catch(() => now)
    counted = keepMost(counted, countRanks(now, words))
  }
  return { gathered: await crowd.end(), observedRanks: counted }
}

/** Returns the later count unless it has fewer ranks, because pods were deleted after their end. */
function keepMost(before: ObservedRanks | null, now: ObservedRanks | null): ObservedRanks | null {
  return (now?.total ?? 0) < (before?.total ?? 0) ? before : now
}

/** Returns the name of a log's file without the extension. Kubernetes names contain no slash. */
function logName({ pod, container }: RunningObserver): string {
  return `${pod}.${container}`
}

function tell(
  gathered: readonly Gathered[],
  { output, to }: CollectOptions,
  say: (sentence: string) => void,
): number {
  const missing = tellMissing(gathered, say)
  const samples = gathered.reduce((sum, one) => sum + one.samples, 0)
  const logs = gathered.length - missing
  const place = to ?? 'standard output'
  say(`${logs} of ${gathered.length} logs, ${samples} samples, as ${output} to ${place}`)
  if (missing === 0) return EXIT.ok
  return logs === 0 && samples === 0 ? EXIT.trouble : EXIT.no
}

/** Says which logs are missing or cut, and returns the number of those that are missing. */
function tellMissing(gathered: readonly Gathered[], say: (sentence: string) => void): number {
  const missing = gathered.filter((one) => one.missing !== undefined)
  for (const one of missing)
    say(`the log of ${sourceName(one.observer)} is missing or incomplete: ${one.missing}`)
  for (const { observer, cuts } of gathered)
    if (cuts.length > 0) say(`the log of ${sourceName(observer)} is cut: ${cuts.join('; ')}`)
  return missing.length
}

/**
 * Says which raw files are missing. Raw files are at the end of a log, so a log that is cut may
 * lack some.
 */
function tellArtifacts(
  gathered: readonly Gathered[],
  { to }: CollectOptions,
  say: (sentence: string) => void,
): number {
  const missing = tellMissing(gathered, say)
  const found = gathered.map(({ observer, artifacts, cuts }) => {
    const { files = 0, problems = [] } = artifacts ?? {}
    for (const problem of problems) say(`${sourceName(observer)}: ${problem}`)
    return { files, isWhole: problems.length === 0 && cuts.length === 0 }
  })
  const files = found.reduce((sum, one) => sum + one.files, 0)
  const isWhole = missing === 0 && found.every((one) => one.isWhole)
  if (files === 0 && isWhole) say(NO_ARTIFACTS)
  say(`${files} raw files of ${gathered.length} logs, to ${to}`)
  if (files === 0) return EXIT.trouble
  return isWhole ? EXIT.ok : EXIT.no
}

const NO_ARTIFACTS =
  'no log contains raw files; a metric with a tool writes them with its option artifacts, ' +
  'such as the annotation cpu-profile.ridealong.dev/artifacts: "true"'
