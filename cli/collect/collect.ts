import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { pause } from '../../src/lib/pause.ts'
import { WriteError } from '../../src/lib/write-error.ts'
import { type ArtifactFolder, openArtifactFolder } from '../../src/runs/collect/artifacts.ts'
import {
  type Destination,
  openDestination,
  type Target,
} from '../../src/runs/collect/destination.ts'
import { startCrowd } from '../../src/runs/collect/follow.ts'
import type { Gathered } from '../../src/runs/collect/gather.ts'
import { gatherOnce } from '../../src/runs/collect/gather-once.ts'
import { logName } from '../../src/runs/collect/log-identity.ts'
import { openLogStore } from '../../src/runs/collect/log-store.ts'
import { noticeSentences } from '../../src/runs/collect/notices.ts'
import { countRanks } from '../../src/runs/collect/observed-ranks.ts'
import {
  type PodOfObservers,
  type RunningObserver,
  sourceName,
} from '../../src/runs/collect/observers.ts'
import type { FindPods } from '../../src/runs/collect/workload-pods.ts'
import { listColumns } from '../../src/runs/log/columns.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import type { ObservedRanks } from '../../src/runs/log/entry.ts'
import { describeObservedRanks } from '../../src/runs/log/observed-ranks.ts'
import type { LogFormat } from '../../src/runs/log/transcribe.ts'
import { csvHeader } from '../../src/runs/log/write.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import { documentFor, namedFile } from '../shared/output.ts'
import { type Progress, startProgress } from '../shared/progress.ts'
import type { Session } from '../shared/session.ts'
import { findWorkloadPods, type WorkloadOptions } from '../shared/workload-pods.ts'

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
export function collect(
  workload: string | undefined,
  options: CollectOptions,
  session: Session,
): Promise<ExitCode> {
  return collectLogs(workload, options, session).catch(writeTrouble)
}

/** Rethrows an error of the destination, which the user can correct. */
function writeTrouble(error: unknown): never {
  throw error instanceof WriteError ? new UsageError(error.message) : error
}

async function collectLogs(
  workload: string | undefined,
  options: CollectOptions,
  session: Session,
): Promise<ExitCode> {
  const { say } = session
  const artifacts = options.output === 'artifacts' ? artifactFolder(options) : undefined
  const found = await findWorkloadPods(workload, options, session.environment)
  const { apiserver, words, pods, find, descriptions, problem, incomplete } = found
  const header = options.output === 'csv' ? csvHeader([...listColumns(descriptions).keys()]) : ''
  const observedRanks = countRanks(pods, words)
  const work = { apiserver, words, pods, find, options, descriptions, artifacts, header, session }
  const run = options.follow
    ? await followAll(work, observedRanks)
    : await collectOnce(work, observedRanks)
  const observers = run.gathered.map(({ observer }) => observer)
  noticeSentences(observers, problem).forEach(say)
  if (incomplete !== undefined) say(incomplete)
  if (run.observedRanks !== null) say(describeObservedRanks(run.observedRanks))
  return artifacts === undefined ? tell(run, options, say) : tellArtifacts(run, options, say)
}

function artifactFolder({ to }: CollectOptions): ArtifactFolder {
  const path = namedFile(to)
  if (path === undefined) throw new UsageError('--output artifacts needs a folder: use --to DIR/')
  return openArtifactFolder(path)
}

/** Returns the target that `--to` names. */
function targetOf({ to }: CollectOptions, { stdout }: Session): Target {
  const prepare = (text: string) => documentFor(stdout, text)
  return namedFile(to) ?? { name: 'standard output', stream: stdout, prepare }
}

interface Work {
  readonly apiserver: Apiserver
  /** The name of the workload. */
  readonly words: string
  readonly pods: readonly PodOfObservers[]
  readonly find: FindPods
  readonly options: CollectOptions
  readonly descriptions: Descriptions
  readonly artifacts: ArtifactFolder | undefined
  /** The text at the beginning of each file. */
  readonly header: string
  readonly session: Session
}

/** The results of the logs, and how many ranks of the workload are observed. */
interface GatheredRun {
  readonly gathered: readonly Gathered[]
  readonly observedRanks: ObservedRanks | null
  /** The number of logs that were not read, because the command was interrupted. */
  readonly unread: number
  /** The folder in which complete logs are kept for the next run; undefined if none are kept. */
  readonly kept: string | undefined
}

/** Runs `gathering` with a progress bar and a signal for SIGINT and SIGTERM. */
async function untilInterrupted<Result>(
  { onInterruption }: Session,
  progress: Progress,
  gathering: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupted = new AbortController()
  // The second signal ends the process.
  const stopListening = onInterruption(['SIGINT', 'SIGTERM'], () => {
    stopListening()
    interrupted.abort()
  })
  try {
    return await gathering(interrupted.signal)
  } finally {
    progress.clear()
    stopListening()
  }
}

/** The milliseconds between two lines about the progress, if standard error is no terminal. */
const PROGRESS_MS = 5000

async function collectOnce(
  { options, pods, header, session, ...work }: Work,
  observedRanks: ObservedRanks | null,
): Promise<GatheredRun> {
  const observers = pods.flatMap((pod) => pod.observers)
  const { output: form, parallel } = options
  const store = await openLogStore(targetOf(options, session), form, header)
  const progress = startProgress(session, PROGRESS_MS)
  try {
    return await untilInterrupted(session, progress, async (signal) => {
      const { say } = session
      const once = { ...work, say, observers, observedRanks, form, header, parallel, store, signal }
      const { gathered, gone } = await gatherOnce({ ...once, showProgress: progress.show })
      const unread = observers.length - gathered.length
      const isComplete = unread === 0 && !gathered.some(isMissing)
      const logs = gathered.map(({ observer, text }) => ({ ...observer, text }))
      const isGood = gathered.some(isUseful) && (unread === 0 || store.isOrdered)
      const others = gone.map((log) => ({ ...log, text: 'whole' as const }))
      if (isGood) await store.finish([...logs, ...others], isComplete)
      return { gathered, observedRanks, unread, kept: store.kept() }
    })
  } finally {
    await store.close()
  }
}

const isMissing = ({ missing }: Gathered) => missing !== undefined
const isUseful = ({ missing, samples }: Gathered) => missing === undefined || samples > 0

async function followAll(work: Work, observedRanks: ObservedRanks | null): Promise<GatheredRun> {
  const { options, header, session } = work
  const destination = await openDestination(targetOf(options, session), options.output, header)
  if (options.output === 'logs' && !destination.isFolder)
    throw new UsageError(
      '--follow with --output logs needs a folder, so that logs do not mix: use --to DIR/',
    )
  const progress = startProgress(session)
  let isGood = false
  try {
    return await untilInterrupted(session, progress, async (signal) => {
      const run = await followInto(destination, work, observedRanks, { progress, signal })
      isGood = run.gathered.some(isUseful)
      return run
    })
  } finally {
    await destination.close(isGood)
  }
}

async function followInto(
  destination: Destination,
  { apiserver, words, pods, find, options, descriptions, artifacts }: Work,
  observedRanks: ObservedRanks | null,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<GatheredRun> {
  const write = (observer: RunningObserver, text: string) =>
    destination.write(logName(observer), text)
  const form = options.output
  let now = pods
  let counted = observedRanks
  const shared = { apiserver, descriptions, signal, artifacts, observedRanks: () => counted }
  const crowd = startCrowd({ ...shared, form, write, pauseMs: LOOK_MS })
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
  return { gathered: await crowd.end(), observedRanks: counted, unread: 0, kept: undefined }
}

/** Returns the later count unless it has fewer ranks, because pods were deleted after their end. */
function keepMost(before: ObservedRanks | null, now: ObservedRanks | null): ObservedRanks | null {
  return (now?.total ?? 0) < (before?.total ?? 0) ? before : now
}

function tell(
  { gathered, unread, kept }: GatheredRun,
  { output, to }: CollectOptions,
  say: Session['say'],
): ExitCode {
  const missing = tellMissing(gathered, say) + unread
  const samples = gathered.reduce((sum, one) => sum + one.samples, 0)
  const all = gathered.length + unread
  const logs = all - missing
  const place = unread > 0 && kept !== undefined ? kept : (to ?? 'standard output')
  say(`${logs} of ${all} logs, ${samples} samples, as ${output} to ${place}`)
  if (missing === 0) return EXIT.ok
  if (kept !== undefined && logs > 0)
    say(`to collect only the missing logs, run the same command again: ${kept} has the others`)
  return logs === 0 && samples === 0 ? EXIT.trouble : EXIT.no
}

/** Says which logs are missing or cut, and returns the number of those that are missing. */
function tellMissing(gathered: readonly Gathered[], say: Session['say']): number {
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
  { gathered, unread }: GatheredRun,
  { to }: CollectOptions,
  say: Session['say'],
): ExitCode {
  const missing = tellMissing(gathered, say) + unread
  const found = gathered.map(({ observer, artifacts, cuts }) => {
    const { files = 0, problems = [] } = artifacts ?? {}
    for (const problem of problems) say(`${sourceName(observer)}: ${problem}`)
    return { files, isWhole: problems.length === 0 && cuts.length === 0 }
  })
  const files = found.reduce((sum, one) => sum + one.files, 0)
  const isWhole = missing === 0 && found.every((one) => one.isWhole)
  if (files === 0 && isWhole) say(NO_ARTIFACTS)
  say(`${files} raw files of ${gathered.length + unread} logs, to ${to}`)
  if (files === 0) return EXIT.trouble
  return isWhole ? EXIT.ok : EXIT.no
}

const NO_ARTIFACTS =
  'no log contains raw files; a metric with a tool writes them with its option artifacts, ' +
  'such as the annotation cpu-profile.ridealong.dev/artifacts: "true"'
