import { maximum } from '../../lib/statistics.ts'
import { type Efficiency, runEfficiency } from '../efficiency/run-efficiency.ts'
import {
  mayWaitNow,
  type RunSpan,
  type VerdictKind,
  verdict,
  verdictKind,
} from '../efficiency/verdict.ts'
import { groupLogs, type PodEnd, readPodEnd } from '../ends/pod-ends.ts'
import { cutLogs, type RunCompletion, readCompletion } from '../ends/run-completion.ts'
import { groupByPod } from '../evidence/run-evidence.ts'
import { type Findings, findFindings } from '../findings/evaluate.ts'
import { findLookedAt, type LookedAt } from '../findings/looked-at.ts'
import { isStuck } from '../findings/no-progress-rule.ts'
import type { RecordedJob } from '../jobs/recorded-job.ts'
import { readProgramEnds } from '../metrics/program-ends.ts'
import { findStart, recordedJobs } from '../metrics/recorded-jobs.ts'
import { computeOffsets } from './align.ts'
import type { CollectedRun } from './gather.ts'
import { distinct } from './groups.ts'
import { labelPods } from './labels.ts'
import { unseenPods } from './observed-pods.ts'
import { withChosenObservers } from './programs/chosen-observers.ts'
import { type LogFacts, readLogFacts } from './programs/log-facts.ts'
import { measureTime, type RunTime } from './programs/run-time.ts'
import type { Track } from './track.ts'

/** A collected run in which nothing is measured twice. */
export interface ChosenRun {
  /** The run with one observer of each section and pod. */
  readonly run: CollectedRun
  readonly podOf: (source: string) => string
  readonly pods: readonly string[]
  /** The facts about all logs, by their names. */
  readonly logs: ReadonlyMap<string, LogFacts>
  /** The run with all observers. */
  readonly whole: CollectedRun
}

/** Chooses one observer of each section and pod. */
export function chooseRun(whole: CollectedRun): ChosenRun {
  const { podOf, pods } = podsIn(whole)
  const logs = readLogFacts(whole, podOf)
  return { run: withChosenObservers(whole, logs), podOf, pods, logs, whole }
}

/** How a run went. */
export interface AssessedRun extends ChosenRun {
  readonly found: Findings
  readonly efficiency: Efficiency
  /** The MPI jobs whose calls were recorded. */
  readonly jobs: readonly RecordedJob[]
  readonly times: RunTimes
  /** Whether the run came to its end. */
  readonly completion: RunCompletion
  /** What was looked at, and what was not. */
  readonly looked: LookedAt
  /** How the run went, in a few sentences. */
  readonly verdict: string
  /** The same as a word. */
  readonly kind: VerdictKind
  /** Whether processes may still wait where it was not looked at. */
  readonly mayWaitNow: boolean
}

/** The tracks of a run, and when they begin and end. */
export interface RunTimes {
  /** The devices with activity. */
  readonly active: readonly Track[]
  /** The tracks of processes, of devices with activity, and of the sections of metrics. */
  readonly tracks: readonly Track[]
  /** The seconds from the start of the run to the first timepoint of each log. */
  readonly offsets: ReadonlyMap<string, number>
  /** The seconds that plots cover: from the first row of the run to the last one. */
  readonly duration: number
  /** The time of the run; null if it is not known. */
  readonly time: RunTime | null
}

/**
 * Says how a run went, for the report, and for `top` at the end of a recording.
 *
 * @param span whether the run has ended
 */
export function assessRun(collected: CollectedRun, span: RunSpan = 'whole'): AssessedRun {
  const chosen = chooseRun(collected)
  const { run, podOf, pods, logs, whole } = chosen
  const evidence = groupByPod(run.evidence, podOf)
  const found = findFindings(evidence, pods)
  const efficiency = runEfficiency(evidence, isStuck(found.findings))
  const times = readTimes(run, logs, efficiency)
  const duration = secondsOf(times)
  const ends = { pods: readPodEnds(whole, podOf), logs }
  const completion = readCompletion({
    ...ends,
    programs: readProgramEnds(evidence),
    findings: found.findings,
  })
  const metrics = metricsIn(run)
  const isOpen = completion.state !== 'finished'
  const looked = findLookedAt(evidence, pods, metrics, found.notChecked, isOpen)
  const facts = {
    duration,
    pods: pods.length,
    efficiency,
    starting: findStart(evidence),
    findings: found.findings,
    metrics,
    looked: { seen: looked.seen, gaps: [...unseenPods(whole), ...looked.gaps] },
    span,
    // A run that goes on has no end yet, so that its end is not missing.
    ...(span === 'whole' ? { completion, isCut: cutLogs(ends).length > 0 } : { completion: null }),
  }
  const said = {
    verdict: verdict(facts),
    kind: verdictKind(facts),
    looked: facts.looked,
    mayWaitNow: mayWaitNow(facts),
  }
  const jobs = evidence.view(recordedJobs)
  return { ...chosen, found, efficiency, jobs, times, completion, ...said }
}

/** Returns the length of a run in seconds; 0 if it has only one timepoint. */
export function secondsOf({ time, duration }: Pick<RunTimes, 'time' | 'duration'>): number {
  return time?.seconds ?? duration
}

/** Returns how the application in each pod ended. */
function readPodEnds({ sources }: CollectedRun, podOf: ChosenRun['podOf']): readonly PodEnd[] {
  const logs = [...sources].map(([name, { place, log }]) => ({ name, place, entry: log }))
  return groupLogs(logs).map((own) => readPodEnd(own, podOf(own[0]?.name ?? '')))
}

/** Returns the names of the metrics that were collected, in natural order. */
function metricsIn({ sources }: CollectedRun): readonly string[] {
  return distinct([...sources.values()].flatMap(({ place }) => place.metric ?? []))
}

function readTimes(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  { metric, seen }: Efficiency,
): RunTimes {
  const { sources, processes, devices, sections } = run
  const active = [...devices.values()].filter(isActive)
  const described = [...sections.values()].flatMap((section) => [...section.tracks.values()])
  const tracks = [...processes.values(), ...active, ...described]
  const offsets = computeOffsets(new Map([...sources].map(([name, { start }]) => [name, start])))
  const ends = tracks.map((track) => (offsets.get(track.source) ?? 0) + lastSecond(track))
  const job = metric === null ? null : { seconds: seen, metric }
  const time = measureTime(run, logs, offsets, job)
  return { active, tracks, offsets, duration: maximum(ends) ?? 0, time }
}

/** Returns the pod of each log, and all pods in natural order. */
export function podsIn({ sources }: CollectedRun) {
  const labels = labelPods([...sources.values()].map(({ place }) => place))
  const podOf = (source: string) => labels.get(source) ?? source
  return { podOf, pods: distinct([...labels.values()]) }
}

function lastSecond({ seconds }: Track): number {
  return seconds.at(-1) ?? 0
}

function isActive({ values }: Track): boolean {
  return values.some((list) => list.some((value) => value !== null && value > 0))
}
