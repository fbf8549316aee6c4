import { computeOffsets } from './align.ts'
import type { CollectedRun } from './gather.ts'
import { groupBy } from './group-by.ts'
import { distinct, groupTracks, ordered } from './groups.ts'
import { labelRanks } from './labels.ts'
import { listNotices } from './notices.ts'
import { buildPlots, type PlotContext, type Plots, type Titled, titleOf } from './plots.ts'
import { type SectionData, sectionData } from './section-data.ts'
import { maximum } from './statistics.ts'
import { type Group, type SummaryRow, summarise, summaryColumns } from './summary.ts'
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
  readonly columns: readonly Titled[]
  readonly rows: readonly SummaryRow[]
  readonly plots: Plots
  readonly devices: Plots
  /** The number of devices that are omitted because they have no activity. */
  readonly idleDevices: number
  /** The sections of the metrics whose logs are in JSON Lines. */
  readonly sections: readonly SectionData[]
}

/**
 * Above this number of processes, a line shows a program instead of a process, unless the user
 * chose a unit.
 */
const MOST_PROCESSES = 2000

/** Builds the data of the page from the collected run. */
export function pageData(run: CollectedRun, unit: Unit): PageData {
  const offsets = computeOffsets(
    new Map([...run.sources].map(([name, { start }]) => [name, start])),
  )
  const labels = labelRanks([...run.sources.values()].map(({ place }) => place))
  const rankOf = (source: string) => labels.get(source) ?? source
  const processes = [...run.processes.values()]
  const groups = groupTracks(run, rankOf)
  const chosen = unit === 'auto' ? autoUnit(processes) : unit
  const tracks = chosen === 'process' ? processes : groups.flatMap(merged)
  const active = [...run.devices.values()].filter(isActive)
  const described = [...run.sections.values()].flatMap((section) => [...section.tracks.values()])
  const all = [...processes, ...active, ...described]
  const duration =
    maximum(all.map((track) => (offsets.get(track.source) ?? 0) + lastSecond(track))) ?? 0
  const context = { offsets, rankOf, duration }
  const plots = buildPlots(ordered(tracks, rankOf), run.measures.process, context)
  const devices = buildPlots(ordered(active, rankOf), run.measures.device, context)
  const sections = buildSections(run, context)
  const columns = summaryColumns(run.measures.process)
  const grids = [plots, devices, ...sections.map((one) => one.plots)].map(({ grid }) => grid)
  return {
    ranks: distinct([
      ...all.map(({ source }) => rankOf(source)),
      ...groups.map(({ rank }) => rank),
    ]),
    programs: distinct(groups.map(({ program }) => program)),
    duration,
    samples: run.samples,
    logs: run.sources.size,
    unit: chosen,
    notices: listNotices(run, grids, groups),
    columns: columns.map(titleOf),
    rows: summarise(groups, columns),
    plots,
    devices,
    idleDevices: run.devices.size - active.length,
    sections,
  }
}

/** Builds the sections, sorted by metric and then in the order in which they were first read. */
function buildSections({ sections }: CollectedRun, context: PlotContext): readonly SectionData[] {
  const byMetric = groupBy(sections.values(), ({ metric }) => metric)
  return distinct([...byMetric.keys()]).flatMap((metric) => {
    const own = byMetric.get(metric) ?? []
    return own.map((section) => {
      const title = own.length === 1 ? metric : `${metric}: ${section.section.name}`
      return sectionData(section, title, context)
    })
  })
}

function autoUnit(processes: readonly Track[]): 'process' | 'program' {
  return processes.length > MOST_PROCESSES ? 'program' : 'process'
}

/** Merges all processes of a program on a rank into one track per log. */
function merged({ tracks }: Group): readonly Track[] {
  const bySource = groupBy(tracks, ({ source }) => source)
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
