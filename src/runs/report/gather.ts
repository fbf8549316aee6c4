import type { RowSection, RowsDescription } from '../../core/catalog.ts'
import { asText } from '../../core/kubernetes/json.ts'
import { EFFICIENCY_READS } from '../efficiency/run-efficiency.ts'
import {
  addPodToEvidence,
  addToEvidence,
  type Evidence,
  findSection,
  newEvidence,
  type PlottedColumn,
} from '../evidence/evidence.ts'
import { RULE_NEEDS, RULE_PLOTS } from '../findings/rules.ts'
import { originOf, type RowOrigin, type Sample } from '../log/columns.ts'
import { coversIntervals, type Descriptions, listIntervalColumns } from '../log/descriptions.ts'
import type { Entry, LogEntry } from '../log/entry.ts'
import { keepUndescribed, takeDescribed, type Undescribed } from '../log/undescribed.ts'
import { METRICS } from '../metrics/index.ts'
import { isProfile } from '../profiles/profile-run.ts'
import { type CollectedTime, isLater, readCollected } from '../time/collected-time.ts'
import type { Start } from './align.ts'
import { columnMeasures, DEVICE_MEASURES, MEASURES, type Measure, readMeasure } from './measures.ts'
import { addRow, newSectionRun, type SectionRun } from './section.ts'
import { hasRoom, newThingLimit, type ThingLimit } from './thing-limit.ts'
import { addPoint, newTrack, type Track } from './track.ts'

/** A log: its origin, the time of a sample, and the entry that describes the log. */
export interface LogSource {
  readonly place: RowOrigin
  /** The time of the first sample that has a time; null if there is no such sample. */
  start: Start | null
  /** The entry at the end of the log; undefined if it was not read. */
  log: LogEntry | undefined
}

/** The collected data that a report is built from. */
export interface CollectedRun {
  readonly sources: Map<string, LogSource>
  /** The logs of earlier attempts, by the number in the names of these logs. */
  readonly earlier: Map<number, CollectedRun>
  /** The measures of processes and devices. Those that every page shows precede the others. */
  readonly measures: { readonly process: readonly Measure[]; readonly device: readonly Measure[] }
  /** The number of measures of processes that are shown even if no finding names them. */
  readonly usualMeasures: number
  /** The values that the rules for findings and the efficiency need. */
  readonly evidence: Evidence
  readonly processes: Map<string, Track>
  readonly devices: Map<string, Track>
  /** The rows in JSON Lines, by metric and section. */
  readonly sections: Map<string, SectionRun>
  /** The descriptions of the rows of the metrics in the catalog. */
  readonly descriptions: Descriptions
  readonly undescribed: Undescribed
  /** The things that rows describe, and the rows that are left out. */
  readonly limit: ThingLimit
  /** Where the time of the run went: the latest that is known, by workload. */
  readonly times: Map<string, CollectedTime>
  samples: number
}

/**
 * @param descriptions the descriptions of the rows of the metrics in a catalog
 * @param columns the names of additional columns of processes and devices to read
 * @param limit the most things of a section of a log
 */
export function newRun(
  descriptions: Descriptions = new Map(),
  columns: readonly string[] = [],
  limit: ThingLimit = newThingLimit(),
): CollectedRun {
  const more = (of: 'process' | 'device', names: readonly string[]) =>
    columnMeasures(listIntervalColumns(descriptions, of), names)
  const usual = [...MEASURES, ...more('process', columns)]
  const known = usual.map(({ column }) => column)
  const ofFindings = listProcessPlots(descriptions, RULE_PLOTS).filter(
    (column) => !known.includes(column),
  )
  return {
    sources: new Map(),
    earlier: new Map(),
    measures: {
      process: [...usual, ...more('process', ofFindings)],
      device: [...DEVICE_MEASURES, ...more('device', columns)],
    },
    usualMeasures: usual.length,
    evidence: newEvidence([...RULE_NEEDS, ...EFFICIENCY_READS], METRICS),
    processes: new Map(),
    devices: new Map(),
    sections: new Map(),
    descriptions,
    undescribed: new Map(),
    limit,
    times: new Map(),
    samples: 0,
  }
}

/** Returns the columns of the plots that show the usual processes, and no section of a metric. */
export function listProcessPlots(
  descriptions: Descriptions,
  plots: readonly Pick<PlottedColumn, 'metric' | 'column'>[],
): readonly string[] {
  return plots.flatMap(({ metric, column }) => {
    const description = descriptions.get(metric)
    return description !== undefined && coversIntervals(description) ? column : []
  })
}

/**
 * Adds an entry of the collected data. A thread's sample of perf-sysstat is only counted, because
 * the values of a process include the values of its threads.
 */
export function addEntry(run: CollectedRun, entry: Entry): void {
  const source = findSource(run, entry)
  if (entry.kind === 'unmatched') return
  if (entry.kind === 'log') {
    source.log = entry
    addTime(run, readCollected(entry.time))
    addPodToEvidence(run.evidence, entry)
    addDescribed(run, entry)
    return
  }
  run.samples += 1
  if (entry.time !== null) source.start ??= { time: entry.time, seconds: entry.seconds }
  const description = run.descriptions.get(entry.metric ?? '')
  if (description === undefined) keepUndescribed(run.undescribed, entry)
  else addSample(run, entry, description)
}

/** Adds where the time of the run went, if it is known. */
export function addTime({ times }: CollectedRun, time: CollectedTime | null): void {
  if (time === null) return
  const known = times.get(time.workload)
  if (known === undefined || isLater(time, known)) times.set(time.workload, time)
}

/** Adds a sample to the data of its section. */
function addSample(run: CollectedRun, sample: Sample, description: RowsDescription): void {
  const section = findSection(sample, description)
  const stored = run.evidence.stores.get(sample.metric ?? '')
  const isLimited = section !== undefined && !isProfile(section)
  if (isLimited && !hasRoom(run.limit, section, sample, stored?.of.numbered)) {
    stored?.of.leaveOut?.(stored.store, sample)
    return
  }
  addToEvidence(run.evidence, sample, description)
  if (!coversIntervals(description)) addToSection(run, sample, description)
  else if (sample.kind === 'process') addProcess(run, sample)
  else if (sample.kind === 'device') addDevice(run, sample)
}

function addToSection(run: CollectedRun, sample: Sample, description: RowsDescription): void {
  const { sections } = run
  const metric = sample.metric ?? '?'
  const key = JSON.stringify([metric, sample.section])
  const section = description.sections.find(({ name }) => name === sample.section)
  if (section !== undefined && (isProfile(section) || isDetail(run, metric, section))) return
  const sectionRun = sections.get(key) ?? (section && newSectionRun(metric, section))
  if (sectionRun === undefined) return
  sections.set(key, sectionRun)
  addRow(sectionRun, sample)
  if (sectionRun.isOfProcesses) addProcess(run, sample)
}

/** Reports whether the rows of a section are single calls or files, and not lines over time. */
function isDetail({ evidence }: CollectedRun, metric: string, { name }: RowSection): boolean {
  return evidence.stores.get(metric)?.of.isDetail?.(name) === true
}

/** Adds the samples that were kept until the description of their rows was read. */
function addDescribed(run: CollectedRun, entry: LogEntry): void {
  for (const { sample, rows } of takeDescribed(run.undescribed, entry)) addSample(run, sample, rows)
}

function findSource({ sources }: CollectedRun, entry: Entry): LogSource {
  const known = sources.get(entry.source ?? '')
  if (known !== undefined) return known
  const made: LogSource = { place: originOf(entry), start: null, log: undefined }
  sources.set(entry.source ?? '', made)
  return made
}

function addProcess({ processes, measures }: CollectedRun, sample: Sample): void {
  const { source, program, pid } = sample
  const id = typeof pid === 'number' ? pid : null
  const place = { source: source ?? '', program: String(program ?? '?'), pid: id }
  const key = JSON.stringify(place)
  const container = asText(sample.container) ?? null
  const track = processes.get(key) ?? newTrack(place, measures.process.length, container)
  processes.set(key, track)
  addPoint(
    track,
    sample,
    measures.process.map((measure) => readMeasure(measure, sample)),
  )
}

function addDevice({ devices, measures }: CollectedRun, sample: Sample): void {
  const { source, device } = sample
  const place = { source: source ?? '', program: String(device ?? '?'), pid: null }
  const key = JSON.stringify(place)
  const track = devices.get(key) ?? newTrack(place, measures.device.length)
  devices.set(key, track)
  addPoint(
    track,
    sample,
    measures.device.map((measure) => readMeasure(measure, sample)),
  )
}
