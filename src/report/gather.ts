import type { DeviceSample, ProcessSample, RowOrigin } from '../log/columns.ts'
import type { Entry, LogEntry } from '../log/entry.ts'
import type { Start } from './align.ts'
import { DEVICE_MEASURES } from './device-measures.ts'
import { MEASURES } from './measures.ts'
import { addPoint, newTrack, type Track } from './track.ts'

/** A log, with its origin and its description. */
export interface LogSource {
  readonly place: RowOrigin
  /** The time of the first sample that has a time; null if there is no such sample. */
  start: Start | null
  log: LogEntry | undefined
}

/** The collected data that a report is built from. */
export interface CollectedRun {
  readonly sources: Map<string, LogSource>
  readonly processes: Map<string, Track>
  readonly devices: Map<string, Track>
  samples: number
}

export function newRun(): CollectedRun {
  return { sources: new Map(), processes: new Map(), devices: new Map(), samples: 0 }
}

/**
 * Adds an entry of the collected data. A thread's sample is only counted, because the values of a
 * process include those of its threads.
 */
export function addEntry(run: CollectedRun, entry: Entry): void {
  const source = findSource(run, entry)
  if (entry.kind === 'log') {
    source.log = entry
    return
  }
  run.samples += 1
  if (entry.time !== null) source.start ??= { time: entry.time, seconds: entry.seconds }
  if (entry.kind === 'process') addProcess(run, entry)
  if (entry.kind === 'device') addDevice(run, entry)
}

function findSource({ sources }: CollectedRun, entry: Entry): LogSource {
  const { source, metric, namespace, pod, node, rank } = entry
  const known = sources.get(source ?? '')
  if (known !== undefined) return known
  const place = { source, metric, namespace, pod, node, rank }
  const made: LogSource = { place, start: null, log: undefined }
  sources.set(source ?? '', made)
  return made
}

function addProcess({ processes }: CollectedRun, sample: ProcessSample): void {
  const { source, program, pid } = sample
  const place = { source: source ?? '', program: program ?? '?', pid }
  const key = JSON.stringify(place)
  const track = processes.get(key) ?? newTrack(place, MEASURES.length)
  processes.set(key, track)
  addPoint(
    track,
    sample,
    MEASURES.map((measure) => measure.of(sample)),
  )
}

function addDevice({ devices }: CollectedRun, sample: DeviceSample): void {
  const { source, device } = sample
  const place = { source: source ?? '', program: device ?? '?', pid: null }
  const key = JSON.stringify(place)
  const track = devices.get(key) ?? newTrack(place, DEVICE_MEASURES.length)
  devices.set(key, track)
  addPoint(
    track,
    sample,
    DEVICE_MEASURES.map((measure) => measure.of(sample)),
  )
}
