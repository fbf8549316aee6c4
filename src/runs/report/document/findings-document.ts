import { rounded } from '../../../lib/round.ts'
import type { RunFinding } from '../../findings/evaluate.ts'
import type { HotFunction } from '../../profiles/hot-function.ts'
import type { WaitedFor } from '../../rules/rule.ts'
import { collectedDocument } from '../../time/collected-time.ts'
import type { ReportModel } from '../data.ts'
import { type ActivityData, type Means, STATES } from '../first-screen/activity-data.ts'
import { mpiRankNotices } from '../notices.ts'
import { listObservedPods } from '../observed-pods.ts'
import { podsDocument } from '../programs/pods-document.ts'
import type { MpiJobData } from '../tools/mpi-data.ts'
import type { DifferenceData, ProfileData } from '../tools/profile-data.ts'
import { efficiencyDocument } from './efficiency-document.ts'
import {
  byKey,
  columnDocument,
  framesDocument,
  markedKeys,
  plotsDocument,
  sectionDocument,
} from './parts-document.ts'

/** The version of the document. It changes if a field changes its meaning or is removed. */
const API_VERSION = 'ridealong.dev/v1alpha1'

/** Builds the document of `report --output json`: everything that the page shows. */
export function findingsDocument(model: ReportModel, title: string) {
  const { run, page, found, efficiency } = model
  const { findings, explained, notChecked } = found
  const profiles = page.profiles?.programs ?? []
  const mpi = page.mpi?.jobs ?? []
  const pods = podsDocument(model)
  const omitted = pods.reduce((sum, { omitted_mpi_ranks: own = 0 }) => sum + own, 0)
  return {
    apiVersion: API_VERSION,
    kind: 'Findings',
    title,
    verdict: page.verdict,
    verdictKind: model.kind,
    notLookedAt: model.looked.gaps.map(({ what, how, pods: own }) => ({ what, how, pods: own })),
    notKnown: page.unknown === '' ? null : page.unknown,
    hotFunction: hotFunctionOf(page.profiles?.hot ?? null),
    ...adviceAndTime(model),
    efficiency: efficiencyDocument(efficiency),
    activity: activityDocument(page.activity),
    pods,
    observedPods: listObservedPods(run),
    samples: run.samples,
    logs: run.sources.size,
    findings: findings.map(findingOf),
    explained,
    notChecked,
    notices: [...page.notices, ...mpiRankNotices(omitted)],
    duration_seconds: page.duration,
    columns: page.columns.map(columnDocument),
    omitted_programs: page.omittedRows,
    unit: page.unit,
    over_time: plotsDocument(page.plots),
    devices: plotsDocument(page.devices),
    idle_devices: page.idleDevices,
    sections: page.sections.map(sectionDocument),
    ...(profiles.length > 0 && { profiles: profiles.map(profileOf) }),
    omitted_profiles: page.profiles?.omitted ?? 0,
    ...(mpi.length > 0 && { mpi: mpi.map(jobOf) }),
    omitted_mpi_jobs: page.mpi?.omitted ?? 0,
    ...model.documents,
  }
}

/** The document of `report --output json`. */
export type FindingsDocument = ReturnType<typeof findingsDocument>

function adviceAndTime({ time, page }: ReportModel) {
  const { advice } = page
  return { advice, time: time && { sentence: page.time, ...collectedDocument(time) } }
}

/** Returns the function with a large part of the time for programs; null if there is none. */
function hotFunctionOf(hot: HotFunction | null) {
  if (hot === null) return null
  const { name, ...times } = hot
  return { function: name, ...times }
}

/** Returns a finding with rounded numbers, and without `isRelative`, which only the page needs. */
function findingOf({ isRelative: _, lost, pods, plot, ...finding }: RunFinding) {
  // The pods of a finding have the same cause.
  const stuck = pods[0]?.stuck
  return {
    ...finding,
    ...(stuck && { stuck: stuck.document() }),
    secondsLost: rounded(lost),
    pods: pods.map(({ pod, things, also = [], lost: own, waitedFor, ended, facts }) => ({
      podIndex: pod,
      secondsLost: rounded(own),
      things: [...things, ...also],
      ...(waitedFor && { waitedFor: waitedForOf(waitedFor) }),
      ...(ended && { ended }),
      facts: facts.map(({ name, value, unit }) => ({ name, value: rounded(value), unit })),
    })),
    column: plot,
  }
}

function waitedForOf({ pod, ...process }: WaitedFor) {
  return { podIndex: pod, ...process }
}

/** Returns the functions of a program, the differences of its pods, and its stacks. */
function profileOf({ program, kind, pods, seconds, functions, flame, ...others }: ProfileData) {
  return {
    program,
    kind,
    pods,
    seconds,
    functions: functions.rows.map(({ name, library, self, total, outliers }) => {
      const [selfOutliers, totalOutliers] = outliers.map((list) => list.map((at) => pods[at]))
      const times = { selfSeconds: self, totalSeconds: total }
      return { function: name, library, ...times, selfOutliers, totalOutliers }
    }),
    omittedFunctions: functions.omitted,
    differences: others.differences.map(differenceOf),
    omittedDifferences: others.omittedDifferences,
    incomplete: others.incomplete,
    incompleteCount: others.incompleteCount,
    ...framesDocument(flame),
  }
}

function differenceOf(one: DifferenceData) {
  const { name, library, median, compared, pods, podCount } = one
  return {
    function: name,
    library,
    medianSeconds: median,
    podsCompared: compared,
    pods: pods.map(({ pod, self, more }) => {
      return { podIndex: pod, selfSeconds: self, secondsAboveMedian: more }
    }),
    podCount,
  }
}

/** Returns the time in MPI of the processes of a job, and by function. */
function jobOf({ job, size, problem, columns, rows, omitted, calls, omittedCalls }: MpiJobData) {
  return {
    job,
    size,
    problem,
    columns: columns.map(columnDocument),
    processes: rows.map(({ pod, program, mpiRank, values, marks }) => {
      const [elapsedSeconds, mpiSeconds, , count, bytes] = values
      const known = { podIndex: pod, mpiRank, elapsedSeconds, mpiSeconds, calls: count, bytes }
      const all = byKey(columns, values)
      return { ...known, name: program, values: all, outliers: markedKeys(columns, marks) }
    }),
    omittedProcesses: omitted,
    calls: calls.map(({ spread, longestMs, ...own }) => {
      const [leastSeconds, medianSeconds, mostSeconds] = spread
      return { ...own, leastSeconds, medianSeconds, mostSeconds, longestMs }
    }),
    omittedCalls,
  }
}

/** Returns for programs what the pods did over time. */
function activityDocument({ buckets, means: all, lines }: ActivityData) {
  const byState = (means: Means) =>
    Object.fromEntries(STATES.map((state, index) => [state, means[index] ?? null]))
  return {
    seconds_per_interval: buckets.width,
    intervals: buckets.count,
    meanPercents: byState(all),
    lines: lines.map(({ name, count, percents, means }) => ({
      name,
      count,
      meanPercents: byState(means),
      percents: Object.fromEntries(STATES.map((state, index) => [state, percents[index] ?? []])),
    })),
  }
}
