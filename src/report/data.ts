import { computeOffsets } from './align.ts'
import { DEVICE_MEASURES } from './device-measures.ts'
import type { CollectedRun } from './gather.ts'
import { chooseGrid, type Grid, onGrid } from './grid.ts'
import { groupBy } from './group-by.ts'
import { distinct, groupTracks, ordered } from './groups.ts'
import { labelRanks } from './labels.ts'
import { MEASURES } from './measures.ts'
import { listNotices } from './notices.ts'
import { marksIn, maximum, median, plainMean } from './statistics.ts'
import { type Group, SUMMARY_COLUMNS, type SummaryRow, summarise } from './summary.ts'
import { sumTracks, type Track } from './track.ts'

export type Unit = 'auto' | 'process' | 'program'

/** A line of a plot: a process, a program with all its processes on one rank, or a device. */
export interface Line {
  readonly rank: string
  readonly program: string
  readonly pid: number | null
  /** The values of each measure on the grid; empty if the measure was never read. */
  readonly values: readonly (readonly (number | null)[])[]
  /**
   * For each measure, whether the mean of the line is an outlier among the lines of the same
   * program.
   */
  readonly marks: readonly boolean[]
}

export interface Plots {
  readonly grid: Grid
  readonly measures: readonly {
    readonly key: string
    readonly title: string
    readonly unit: string
  }[]
  readonly lines: readonly Line[]
}

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
  readonly columns: readonly {
    readonly key: string
    readonly title: string
    readonly unit: string
  }[]
  readonly rows: readonly SummaryRow[]
  readonly plots: Plots
  readonly devices: Plots
  /** The number of devices that are omitted because they have no activity. */
  readonly idleDevices: number
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
  const all = [...processes, ...active]
  const duration =
    maximum(all.map((track) => (offsets.get(track.source) ?? 0) + lastSecond(track))) ?? 0
  const context = { offsets, rankOf, duration }
  const plots = buildPlots(ordered(tracks, rankOf), MEASURES, context)
  const devices = buildPlots(ordered(active, rankOf), DEVICE_MEASURES, context)
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
    notices: listNotices(run, [plots.grid, devices.grid], groups),
    columns: SUMMARY_COLUMNS.map(({ key, title, unit }) => ({ key, title, unit })),
    rows: summarise(groups),
    plots,
    devices,
    idleDevices: run.devices.size - active.length,
  }
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

interface DataContext {
  readonly offsets: ReadonlyMap<string, number>
  readonly rankOf: (source: string) => string
  readonly duration: number
}

function buildPlots(
  tracks: readonly Track[],
  measures: Plots['measures'],
  { offsets, rankOf, duration }: DataContext,
): Plots {
  const interval = median(tracks.slice(0, 200).flatMap(findGaps)) ?? 10
  const grid = chooseGrid(duration, interval, tracks.length, measures.length)
  const meansOf = ({ values }: Track) => values.map(plainMean)
  const floors = measures.map(() => 1)
  const marks = marksIn(tracks, ({ program }) => program, meansOf, floors)
  const lines = tracks.map((track, index) => ({
    rank: rankOf(track.source),
    program: track.program,
    pid: track.pid,
    values: track.values.map((values) => {
      const isKnown = values.some((value) => value !== null)
      return isKnown ? onGrid(track, values, grid, offsets.get(track.source) ?? 0) : []
    }),
    marks: marks[index] ?? [],
  }))
  return { grid, measures: measures.map(({ key, title, unit }) => ({ key, title, unit })), lines }
}

function findGaps({ seconds }: Track): number[] {
  return seconds.slice(1, 50).flatMap((at, index) => at - (seconds[index] ?? at) || [])
}

function lastSecond({ seconds }: Track): number {
  return seconds.at(-1) ?? 0
}

function isActive({ values }: Track): boolean {
  return values.some((list) => list.some((value) => value !== null && value > 0))
}
