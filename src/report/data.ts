import { findFindings, type RunFinding } from '../findings/evaluate.ts'
import { METRIC_OF_FORMAT } from '../log/descriptions.ts'
import { computeOffsets } from './align.ts'
import { type FindingsData, findingsData } from './findings-data.ts'
import type { CollectedRun } from './gather.ts'
import { distinct, groupTracks, ordered } from './groups.ts'
import { labelRanks } from './labels.ts'
import { findCopies, withoutLogs } from './log-copies.ts'
import type { Measure } from './measures.ts'
import { copyNotices, listNotices } from './notices.ts'
import { buildPlots, type PlotContext, type Plots, type Titled, titleOf } from './plots.ts'
import { type SectionData, sectionData } from './section-data.ts'
import { maximum } from './statistics.ts'
import { type Group, type SummaryRow, summarise, summaryColumns } from './summary.ts'
import { type MpiData, mpiData } from './tools/mpi-data.ts'
import { type ProfilesData, profilesData } from './tools/profile-data.ts'
import { sumTracks, type Track } from './track.ts'

export type Unit = 'auto' | 'process' | 'program'

/** The data that the page shows. */
export interface PageData {
  readonly ranks: readonly string[]
  readonly programs: readonly string[]
  readonly duration: number
  readonly samples: number
  readonly logs: number
  /** Whether a line shows one process, or all processes of a program on one rank. */
  readonly unit: 'process' | 'program'
  readonly notices: readonly string[]
  readonly findings: FindingsData
  readonly columns: readonly Titled[]
  readonly rows: readonly SummaryRow[]
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
}

/**
 * Above this number of processes, a line shows a program instead of a process, unless the user
 * chose a unit.
 */
const MOST_PROCESSES = 2000

/** Builds the data of the page from the collected run. */
export function pageData(collected: CollectedRun, unit: Unit): PageData {
  const copies = findCopies(collected)
  const run = withoutLogs(collected, copies)
  const { rankOf, ranks } = ranksIn(run)
  const found = findFindings(run.evidence, rankOf, ranks)
  const shown = shownMeasures(run, found.findings)
  const groups = groupTracks(run, rankOf)
  const active = [...run.devices.values()].filter(isActive)
  const all = allTracks(run, active)
  const context = buildContext(run, all, rankOf)
  const chosen = unit === 'auto' ? autoUnit(run) : unit
  const tracks = groups.flatMap(chosen === 'process' ? (group) => group.tracks : merged)
  const plots = processPlots(tracks, shown, context)
  const devices = buildPlots(ordered(active, rankOf), run.measures.device, context)
  const sections = buildSections(run, context)
  const columns = summaryColumns(run.measures.process.slice(0, run.usualMeasures))
  const grids = [plots, devices, ...sections.map((one) => one.plots)].map(({ grid }) => grid)
  const measures = shown.map(({ measure }) => measure)
  const profiles = profilesData(run.evidence.profiles, rankOf)
  const mpi = mpiData(run.evidence.mpi, rankOf)
  return {
    ranks: distinct([
      ...all.map(({ source }) => rankOf(source)),
      ...groups.map(({ rank }) => rank),
    ]),
    programs: distinct(groups.map(({ program }) => program)),
    duration: context.duration,
    samples: run.samples,
    logs: run.sources.size,
    unit: chosen,
    notices: [...listNotices(run, grids, groups), ...copyNotices(copies)],
    findings: findingsData(found, measures, sections),
    columns: columns.map(titleOf),
    rows: summarise(groups, columns),
    plots,
    devices,
    idleDevices: run.devices.size - active.length,
    sections,
    ...(profiles && { profiles }),
    ...(mpi && { mpi }),
  }
}

/** Returns the tracks of processes, of devices with activity, and of the sections of metrics. */
function allTracks({ processes, sections }: CollectedRun, active: readonly Track[]) {
  const described = [...sections.values()].flatMap((section) => [...section.tracks.values()])
  return [...processes.values(), ...active, ...described]
}

function buildContext(
  { sources }: CollectedRun,
  tracks: readonly Track[],
  rankOf: (source: string) => string,
): PlotContext {
  const offsets = computeOffsets(new Map([...sources].map(([name, { start }]) => [name, start])))
  const ends = tracks.map((track) => (offsets.get(track.source) ?? 0) + lastSecond(track))
  return { offsets, rankOf, duration: maximum(ends) ?? 0 }
}

function processPlots(
  tracks: readonly Track[],
  shown: readonly ShownMeasure[],
  context: PlotContext,
): Plots {
  return buildPlots(
    ordered(tracks, context.rankOf).map((track) => withMeasures(track, shown)),
    shown.map(({ measure }) => measure),
    context,
  )
}

/** Returns the rank of each log, and all ranks in natural order. */
export function ranksIn({ sources }: CollectedRun) {
  const labels = labelRanks([...sources.values()].map(({ place }) => place))
  const rankOf = (source: string) => labels.get(source) ?? source
  return { rankOf, ranks: distinct([...labels.values()]) }
}

/** A measure that the page plots, and its index among the measures of the tracks. */
interface ShownMeasure {
  readonly measure: Measure
  readonly index: number
}

/** Returns the measures of processes that are always plotted, and those that findings name. */
function shownMeasures(
  { measures, usualMeasures }: CollectedRun,
  findings: readonly RunFinding[],
): readonly ShownMeasure[] {
  const named = findings.flatMap(({ plot }) => {
    return plot?.metric === METRIC_OF_FORMAT.pidstat ? plot.column : []
  })
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
  return processes.size > MOST_PROCESSES ? 'program' : 'process'
}

/** Merges all processes of a program on a rank into one track per log. */
function merged({ tracks }: Group): readonly Track[] {
  const bySource = Map.groupBy(tracks, ({ source }) => source)
  return [...bySource].map(([source, own]) =>
    sumTracks(own, { source, program: own[0]?.program ?? '' }),
  )
}

function lastSecond({ seconds }: Track): number {
  return seconds.at(-1) ?? 0
}

function isActive({ values }: Track): boolean {
  return values.some((list) => list.some((value) => value !== null && value > 0))
}
