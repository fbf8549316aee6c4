import { keepOutliers } from '../../lib/statistics.ts'
import { firstAdvice, stacksAdvice } from '../efficiency/advice.ts'
import { unknownText } from '../efficiency/factor-lines.ts'
import { measuredTime } from '../efficiency/measured-time.ts'
import type { Efficiency } from '../efficiency/run-efficiency.ts'
import { type ShownFactor, shownFactors } from '../efficiency/shown-factors.ts'
import type { RunSpan, VerdictKind } from '../efficiency/verdict.ts'
import type { Findings, RunFinding } from '../findings/evaluate.ts'
import type { LookedAt } from '../findings/looked-at.ts'
import type { RecordedJob } from '../jobs/recorded-job.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'
import type { MetricReport, PagePart } from '../metrics/page-part.ts'
import {
  type CollectedTime,
  collectedSentence,
  onlyTime,
  timeNotices,
} from '../time/collected-time.ts'
import { divideRunning } from '../time/running-time.ts'
import { type AssessedRun, assessRun, secondsOf } from './assess.ts'
import { type FindingsData, findingsData } from './findings-data.ts'
import { activityData } from './first-screen/activity.ts'
import type { ActivityData } from './first-screen/activity-data.ts'
import { stepsByPod } from './first-screen/pod-steps.ts'
import { type CollectedRun, listProcessPlots } from './gather.ts'
import { distinct, groupTracks, ordered } from './groups.ts'
import type { Measure } from './measures.ts'
import { listNotices, type ShownPart } from './notices.ts'
import { findWorkload } from './observed-pods.ts'
import { buildPlots, type PlotContext, type Plots, type Titled, titleOf } from './plots.ts'
import { attemptsReports } from './programs/attempts-view.ts'
import { type ReportedAttempts, reportedAttempts } from './programs/reported-attempts.ts'
import { type SectionData, sectionData } from './section-data.ts'
import { type Group, type SummaryRow, summarise, summaryColumns } from './summary.ts'
import { type MpiData, mpiData } from './tools/mpi-data.ts'
import { type ProfilesData, profilesData } from './tools/profile-data.ts'
import { sumTracks, type Track } from './track.ts'

export type Unit = 'auto' | 'process' | 'program'

/** The data that the page shows. */
export interface PageData {
  readonly pods: readonly string[]
  readonly programs: readonly string[]
  /** The length of the run in seconds, as in the verdict. */
  readonly duration: number
  readonly samples: number
  readonly logs: number
  /** Whether a line shows one process, or all processes of a program on one pod. */
  readonly unit: 'process' | 'program'
  readonly notices: readonly string[]
  /** How the run went, in a few sentences. */
  readonly verdict: string
  /** Where the time of the run went, in one sentence; null if it is not known. */
  readonly time: string | null
  /** What to do first; null if nothing needs to be done. */
  readonly advice: string | null
  /** What the pods did over time. */
  readonly activity: ActivityData
  /** The efficiency of the run, with its factors. */
  readonly factors: readonly ShownFactor[]
  /** Which factors are not known, each with the reason; empty if there are none. */
  readonly unknown: string
  readonly findings: FindingsData
  readonly columns: readonly Titled[]
  readonly rows: readonly SummaryRow[]
  /** The number of rows that are left out. */
  readonly omittedRows: number
  readonly plots: Plots
  readonly devices: Plots
  /** The number of devices that are omitted because they have no activity. */
  readonly idleDevices: number
  /** The sections of the metrics whose logs are in JSON Lines. */
  readonly sections: readonly SectionData[]
  /** The functions in which processes spent their time; missing if no process was profiled. */
  readonly profiles?: ProfilesData
  /** The time in calls of MPI; missing if no calls were recorded. */
  readonly mpi?: MpiData
  /** The tables of metrics; missing if there are none. */
  readonly parts?: readonly PagePart[]
}

/**
 * Above this number of processes, a line shows a program instead of a process, unless the user
 * chose a unit.
 */
const MAX_PROCESSES = 2000
/** The most rows of the table by pod and program. */
const MAX_ROWS = 20_000

/** The model from which both the page and the JSON are built. */
export interface ReportModel {
  /** The run with one observer of each section and pod. */
  readonly run: CollectedRun
  readonly podOf: (source: string) => string
  readonly pods: readonly string[]
  readonly found: Findings
  readonly efficiency: Efficiency
  /** The MPI jobs whose calls were recorded. */
  readonly jobs: readonly RecordedJob[]
  /** The programs of the pods, in the order of the rows of the page. */
  readonly groups: readonly Group[]
  readonly attempts: ReportedAttempts
  /** What the verdict says, as a word. */
  readonly kind: VerdictKind
  readonly looked: LookedAt
  /** Where the time of the run went; null if it is not known. */
  readonly time: CollectedTime | null
  readonly page: PageData
  /** What metrics add to the JSON. */
  readonly documents: Readonly<Record<string, unknown>>
}

/** Builds the data of the page from the collected run. */
export function pageData(collected: CollectedRun, unit: Unit): PageData {
  return reportModel(collected, unit).page
}

/**
 * Builds the model of a report from the collected run.
 *
 * @param span whether the run has ended
 */
export function reportModel(
  collected: CollectedRun,
  unit: Unit,
  span: RunSpan = 'whole',
): ReportModel {
  const assessed = assessRun(collected, span)
  const { run, podOf, pods, logs, whole, found, efficiency, jobs, times } = assessed
  // The totals are chosen one by one, from the summaries and samples of all observers.
  const groups = groupTracks(whole, podOf, logs)
  const { groups: kept, ...table } = programTable(run, groups)
  const { shown, plottedPods, ...parts } = plotRun(assessed, unit, groups)
  const profiles = profilesData(run.evidence.profiles, podOf)
  const mpi = mpiData(jobs)
  const collectedTime = onlyTime(collected.times)
  const time = collectedTime && divideRunning(collectedTime, measuredTime(efficiency))
  const attempts = reportedAttempts(assessed)
  const reports = [...attemptsReports(attempts, time), ...metricReports(assessed)]
  const page: PageData = {
    pods: distinct([...plottedPods, ...groups.map(({ pod }) => pod)]),
    programs: distinct(table.rows.map(({ program }) => program)),
    samples: run.samples,
    logs: run.sources.size,
    notices: [...listNotices(run, shownParts(table, parts), groups), ...timeNotices(time)],
    verdict: assessed.verdict,
    time: time === null ? null : collectedSentence(time),
    advice: adviceFor(assessed),
    activity: activityData(
      stepsByPod(run, { podOf, offsetOf: (source) => times.offsets.get(source) ?? 0 }),
      efficiency,
      { pods, named: namedPods(found.findings), duration: times.duration },
    ),
    factors: shownFactors(efficiency.root),
    unknown: unknownText(efficiency.root, assessed.looked.gaps),
    findings: findingsData(found, shown, parts.sections),
    ...table,
    duration: secondsOf(times),
    ...parts,
    ...(profiles && { profiles }),
    ...(mpi && { mpi }),
    ...(reports.length > 0 && { parts: reports.map(({ part }) => part) }),
  }
  const documents = Object.assign({}, ...reports.map(({ document }) => document))
  const { kind, looked } = assessed
  const said = { found, efficiency, jobs, attempts, kind, looked, time }
  return { run, podOf, pods, ...said, groups: kept, page, documents }
}

function metricReports({ run, podOf }: AssessedRun): readonly MetricReport[] {
  return METRICS.flatMap(({ report }: RunMetric) => report?.(run.evidence.stores, podOf) ?? [])
}

/** Returns what to do first about a run; null if nothing needs to be done. */
function adviceFor({ whole, found, efficiency, mayWaitNow }: AssessedRun): string | null {
  const advice = firstAdvice(found.findings, efficiency.root) ?? []
  const look = mayWaitNow ? [stacksAdvice(findWorkload(whole))] : []
  const all = [...look, advice].flat()
  return all.length === 0 ? null : all.join(' ')
}

/** Returns the pods of the findings, those that lost the most time first. */
function namedPods(findings: readonly RunFinding[]): readonly string[] {
  return [...new Set(findings.flatMap(({ pods }) => pods.map(({ pod }) => pod)))]
}

/** Builds the table by pod and program. Returns the programs of its rows too. */
function programTable({ measures, usualMeasures }: CollectedRun, groups: readonly Group[]) {
  const columns = summaryColumns(measures.process.slice(0, usualMeasures))
  const all = summarise(groups, columns).map((row, index) => ({ ...row, group: groups[index] }))
  const kept = keepOutliers(all, MAX_ROWS)
  return {
    columns: columns.map(titleOf),
    rows: kept.map(({ group: _, ...row }) => row),
    omittedRows: all.length - kept.length,
    groups: kept.flatMap(({ group }) => group ?? []),
  }
}

/** Builds the plots and the sections, and returns the measures and the pods that they show. */
function plotRun({ run, podOf, found, times }: AssessedRun, unit: Unit, groups: readonly Group[]) {
  const { tracks: all, active } = times
  const context = { ...times, podOf }
  const chosen = unit === 'auto' ? autoUnit(run) : unit
  const tracks = groups.flatMap(chosen === 'process' ? (group) => group.tracks : merged)
  const shown = shownMeasures(run, found.findings)
  return {
    shown: shown.map(({ measure }) => measure),
    plottedPods: all.map(({ source }) => podOf(source)),
    unit: chosen,
    plots: processPlots(tracks, shown, context),
    devices: buildPlots(ordered(active, podOf), run.measures.device, context),
    idleDevices: run.devices.size - active.length,
    sections: buildSections(run, context),
  }
}

/** Returns the parts of the page, each with its title, for the notices about them. */
function shownParts(
  { omittedRows }: Pick<PageData, 'omittedRows'>,
  { plots, devices, sections }: Pick<PageData, 'plots' | 'devices' | 'sections'>,
): readonly ShownPart[] {
  return [
    { title: 'programs', omittedRows, plots },
    { title: 'devices', omittedRows: 0, plots: devices },
    ...sections,
  ]
}

function processPlots(
  tracks: readonly Track[],
  shown: readonly ShownMeasure[],
  context: PlotContext,
): Plots {
  return buildPlots(
    ordered(tracks, context.podOf).map((track) => withMeasures(track, shown)),
    shown.map(({ measure }) => measure),
    context,
  )
}

/** A measure that the page plots, and its index among the measures of the tracks. */
interface ShownMeasure {
  readonly measure: Measure
  readonly index: number
}

/** Returns the measures of processes that are always plotted, and those that findings name. */
function shownMeasures(
  { measures, usualMeasures, descriptions }: CollectedRun,
  findings: readonly RunFinding[],
): readonly ShownMeasure[] {
  const plots = findings.flatMap(({ plot }) => plot ?? [])
  const named = listProcessPlots(descriptions, plots)
  return measures.process
    .map((measure, index) => ({ measure, index }))
    .filter(({ measure, index }) => index < usualMeasures || named.includes(measure.column))
}

/** Returns a track with the values of these measures only. */
function withMeasures(track: Track, measures: readonly ShownMeasure[]): Track {
  return { ...track, values: measures.map(({ index }) => track.values[index] ?? []) }
}

/** Builds the sections, sorted by metric and then in the order in which they were first read. */
function buildSections({ sections }: CollectedRun, context: PlotContext): readonly SectionData[] {
  const byMetric = Map.groupBy(sections.values(), ({ metric }) => metric)
  return distinct([...byMetric.keys()]).flatMap((metric) => {
    const own = byMetric.get(metric) ?? []
    return own.map((section) => {
      const title = own.length === 1 ? metric : `${metric}: ${section.section.name}`
      return sectionData(section, title, context)
    })
  })
}

function autoUnit({ processes }: CollectedRun): 'process' | 'program' {
  return processes.size > MAX_PROCESSES ? 'program' : 'process'
}

/** Merges all processes of a program on a pod into one track per log. */
function merged({ tracks }: Group): readonly Track[] {
  const bySource = Map.groupBy(tracks, ({ source }) => source)
  return [...bySource].map(([source, own]) =>
    sumTracks(own, { source, program: own[0]?.program ?? '' }),
  )
}
