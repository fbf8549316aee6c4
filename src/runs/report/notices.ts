import type { RowsDescription } from '../../core/catalog.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import { roundTo } from '../../lib/round.ts'
import { describeEnd } from '../findings/signals.ts'
import { END_MISSING } from '../log/run.ts'
import type { CollectedRun, LogSource } from './gather.ts'
import type { Grid } from './grid.ts'
import { podNotices } from './observed-pods.ts'
import type { Plots } from './plots.ts'
import type { Group } from './summary.ts'
import { listLeftOut } from './thing-limit.ts'

/** A part of the page: a table, and its plots. */
export interface ShownPart {
  readonly title: string
  /** The number of rows of the table that are left out. */
  readonly omittedRows: number
  readonly plots: Plots
}

/** Returns the notices at the top of the page, one or two sentences each. */
export function listNotices(
  run: CollectedRun,
  parts: readonly ShownPart[],
  groups: readonly Group[],
): readonly string[] {
  const sources = [...run.sources.values()]
  const averages = sources.filter(({ log }) => log?.isAverage)
  const notices = [
    ...podNotices(run),
    say(
      averages,
      'contains averages since the node started, as the Metrics Operator records them, not over ' +
        'the intervals between samples; its totals are omitted',
    ),
    say(
      sources.filter(({ start }) => start !== null && !start.time.includes('T')),
      'has times without a date, so it begins at 0 in the plots',
    ),
    say(sources.filter(isUnclosed), UNCLOSED),
    ...listCuts(sources),
    ...toldOf(sources),
    ...descriptionNotices(run),
    ...leftOutNotices(run),
    ...joinedNotices(run),
    ...parts.map(omittedFrom),
  ]
  const coarse = parts.find(({ plots }) => plots.grid.isDownsampled)
  if (coarse !== undefined) notices.push(downsampled(coarse.plots.grid))
  notices.push(unseenIn(groups))
  return notices.filter((notice) => notice !== undefined)
}

/** Returns the notices about rows of a run that are missing or merged. */
export function lossNotices(run: CollectedRun): readonly string[] {
  const sources = [...run.sources.values()]
  return [
    say(sources.filter(isUnclosed), UNCLOSED),
    ...listCuts(sources),
    ...leftOutNotices(run),
    ...joinedNotices(run),
  ].filter((notice) => notice !== undefined)
}

const UNCLOSED = 'is incomplete: its end is missing in the collected file'

function isUnclosed({ log }: LogSource): boolean {
  return log === undefined
}

/** Returns the notices about rows that were not kept, because a log describes too many things. */
function leftOutNotices({ sources, limit }: CollectedRun): readonly string[] {
  return listLeftOut(limit).flatMap(({ log, section, rows }) => {
    if (!sources.has(log)) return []
    const most = limit.most.toLocaleString('en')
    const left = `${counted(rows, 'row')} about others ${rows === 1 ? 'is' : 'are'} left out`
    const first = `only the first ${most} entries of its section ${section.name} are read`
    return `${log}: ${first}; ${left}, also in the findings.`
  })
}

/** Returns the notices about programs with too many functions or stacks. */
function joinedNotices({ evidence }: CollectedRun): readonly string[] {
  return [...evidence.profiles.values()].flatMap(({ program, joined }) => {
    const rows = `${counted(joined, 'row')} ${joined === 1 ? 'is' : 'are'} part of (other)`
    return joined === 0 ? [] : `${program} has too many functions or stacks: ${rows}.`
  })
}

/** Returns a notice about the rows and lines of a part that did not fit into the report. */
function omittedFrom({ title, omittedRows, plots }: ShownPart): string | undefined {
  const parts = [
    ...(omittedRows === 0 ? [] : [`${counted(omittedRows, 'row')} of the table`]),
    ...(plots.omitted === 0 ? [] : [`${counted(plots.omitted, 'line')} of the plots`]),
  ]
  if (parts.length === 0) return undefined
  const left = `${parts.join(' and ')} did not fit into the report`
  return `${title}: ${left}. Outliers are kept, and then the first ones.`
}

/** Returns the notice about processes of MPI that did not fit into `mpi_ranks` of the JSON. */
export function mpiRankNotices(omitted: number): readonly string[] {
  if (omitted === 0) return []
  const left = `${counted(omitted, 'process', 'es')} of MPI did not fit into the report`
  return [`mpi_ranks: ${left}. The first ones are kept.`]
}

function counted(count: number, noun: string, plural = 's'): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : plural}`
}

function downsampled({ width }: Grid): string {
  const seconds = roundTo(width, 3)
  const plots = `The plots are downsampled: each point stands for ${seconds} seconds`
  return `${plots} and shows the minimum and the maximum. The table uses all samples.`
}

/** Returns a notice about the CPU time that no sample of a process shows. */
function unseenIn(groups: readonly Group[]): string | undefined {
  const unseen = groups.reduce((sum, { totals }) => sum + (totals?.unseenSeconds ?? 0), 0)
  if (unseen < 0.5) return undefined
  const missing = `${unseen.toFixed(1)} CPU seconds are missing from the table rows and plot lines`
  return `${missing}: processes used them after their last samples, or had no sample.`
}

/** Returns the notices about rows that are not shown as the log describes them. */
function descriptionNotices({ sources, undescribed, descriptions }: CollectedRun) {
  const unknown = [...undescribed.keys()].flatMap((source) => sources.get(source) ?? [])
  const other = [...sources.values()].filter(({ log }) => {
    const known = descriptions.get(log?.metric ?? '')
    const isKnown = log !== undefined && log.rows !== null && known !== undefined
    return isKnown && shapeOf(known) !== shapeOf(log.rows)
  })
  return [
    say(unknown, 'has rows that are not shown: the description of its metric is missing'),
    say(
      other,
      "has another description of its rows than the command's catalog, which is used here",
    ),
  ]
}

/** Returns a text that is the same for descriptions by which rows are read in the same way. */
function shapeOf({ format, sections }: RowsDescription): string {
  const shapes = sections.map(({ name, of, columns }) => [
    name,
    of,
    columns.map(({ meaning: _, otlp: __, quantity: ___, sampled: ____, ...column }) =>
      Object.entries(column).sort(),
    ),
  ])
  return JSON.stringify([format, shapes])
}

/** Returns one notice for each kind of truncation, with the names of the first truncated logs. */
function listCuts(sources: readonly LogSource[]): (string | undefined)[] {
  const byCut = new Map<string, LogSource[]>()
  for (const source of sources) {
    const cuts = source.log?.cuts ?? []
    const words = cuts.map((cut) => {
      if (cut === END_MISSING) return endMissing(source)
      return cut.replace(/^timepoint \d+ .*/, 'a timepoint is cut')
    })
    const key = [...new Set(words)].join('; ')
    if (key !== '') byCut.set(key, [...(byCut.get(key) ?? []), source])
  }
  return [...byCut].map(([cut, cutSources]) => say(cutSources, `is incomplete: ${cut}`))
}

/** Says that the end of a log is missing, and if that is known, how its container had ended. */
function endMissing({ log }: LogSource): string {
  const end = log?.ended?.find(({ container, restarted }) => {
    return !restarted && container === log.metadata.container
  })
  if (end === undefined) return END_MISSING
  const how = `container ${end.container} ended with ${describeEnd(end)}`
  return `its end is missing, although ${how}: the observer was killed, or the log was cut off`
}

/** Returns the notices that logs contain; logs with the same sentence share one notice. */
function toldOf(sources: readonly LogSource[]): (string | undefined)[] {
  const bySentence = new Map<string, LogSource[]>()
  for (const source of sources)
    for (const sentence of source.log?.notices ?? [])
      bySentence.set(sentence, [...(bySentence.get(sentence) ?? []), source])
  return [...bySentence].map(([sentence, told]) => {
    return `${namesOf(told)}: ${told.length === 1 ? '' : 'each says: '}${sentence}.`
  })
}

function say(sources: readonly LogSource[], what: string): string | undefined {
  if (sources.length === 0) return undefined
  return `${namesOf(sources)}: ${sources.length === 1 ? '' : 'each '}${what}.`
}

function namesOf(sources: readonly LogSource[]): string {
  return nameFirst(sources.map(({ place }) => place.source ?? '?'))
}
