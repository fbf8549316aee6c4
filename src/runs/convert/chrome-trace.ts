import { printableJson } from '../../core/text/printable.ts'
import { rounded } from '../../lib/round.ts'
import type { JobTimes } from '../jobs/recorded-job.ts'
import { JOB_TIMES } from '../metrics/recorded-jobs.ts'
import type { ChosenRun } from '../report/assess.ts'
import type { SectionRun, SectionTrack } from '../report/section.ts'
import { counterPoints, type Ends, findEnds } from './counter-points.ts'
import type { TimedTrack } from './timed-tracks.ts'

/** An event of the Trace Event Format. */
interface TraceEvent {
  readonly name: string
  readonly cat?: string
  /** A counter, metadata, or a slice with its length. */
  readonly ph: 'C' | 'M' | 'X'
  /** Microseconds since the start of the trace. */
  readonly ts?: number
  /** The length in microseconds. */
  readonly dur?: number
  readonly pid: number
  readonly tid?: number
  readonly args: Readonly<Record<string, string | number>>
}

/** How pods and times become numbers of the trace. */
interface Numbers {
  /** Returns the process of the trace that stands for the pod of a log. */
  readonly pidOf: (source: string) => number
  /** Converts seconds since the first timepoint of a log to microseconds. */
  readonly microseconds: (source: string, seconds: number) => number
}

/** The columns of MPI jobs without a counter: slices show the first two, the last is constant. */
const WITHOUT_COUNTER = new Map(
  JOB_TIMES.map(({ metric, elapsed, inMpi, size }) => [metric, [elapsed, inMpi, size]]),
)

/** The length from which a part is complete, in UTF-16 code units. */
const PART_LENGTH = 1 << 16

/**
 * Yields a file in the JSON Object Format of the Trace Event Format, which Perfetto reads. A
 * process of the trace is a pod. It has a counter for each measure of each process, device or
 * other thing, and a thread for each process of MPI, with a slice for each interval.
 *
 * @param program the name and the version of the program that writes the file
 */
export function* chromeTraceParts(
  run: ChosenRun,
  tracks: readonly TimedTrack[],
  program: string,
): Generator<string> {
  let part = `{"displayTimeUnit":"ms","otherData":${printableJson({ program })},"traceEvents":[`
  let before = '\n'
  for (const event of traceEvents(run, tracks)) {
    part += `${before}${printableJson(event)}`
    before = ',\n'
    if (part.length < PART_LENGTH) continue
    yield part
    part = ''
  }
  yield `${part}\n]}\n`
}

function* traceEvents(run: ChosenRun, tracks: readonly TimedTrack[]): Generator<TraceEvent> {
  const ofMpi = [...mpiTracks(run)]
  const numbers = numberRun(run, tracks, ofMpi)
  yield* processEvents(run, tracks)
  for (const [index, one] of ofMpi.entries())
    yield* mpiEvents(one, run.pods.length + 1 + index, numbers)
  const ends = findEnds(tracks)
  for (const one of tracks) yield* counterEvents(one, ends, numbers)
}

/** Numbers the pods from 1. The trace begins with the first interval that a value is about. */
function numberRun(
  { pods, podOf }: ChosenRun,
  tracks: readonly TimedTrack[],
  ofMpi: readonly MpiTrack[],
): Numbers {
  const pids = new Map(pods.map((pod, index) => [pod, index + 1]))
  const offsets = new Map(tracks.map(({ track, offset }) => [track.source, offset]))
  const offsetOf = (source: string) => offsets.get(source) ?? 0
  const begins = [
    ...tracks.map(({ track }) => {
      const [second = 0, interval] = [track.seconds[0], track.intervals[0]]
      return offsetOf(track.source) + second - (interval ?? 0)
    }),
    ...ofMpi.map(({ track, slices }) => offsetOf(track.source) + (slices[0]?.from ?? 0)),
  ]
  const begin = begins.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
  return {
    pidOf: (source) => pids.get(podOf(source)) ?? 0,
    microseconds: (source, seconds) => Math.round((offsetOf(source) + seconds - begin) * 1e6),
  }
}

/** Yields the labels of the pods that have tracks, in their order, with their names and nodes. */
function* processEvents(
  { run, pods, podOf }: ChosenRun,
  tracks: readonly TimedTrack[],
): Generator<TraceEvent> {
  const shown = new Map(tracks.map(({ track: { source } }) => [podOf(source), source]))
  for (const [index, label] of pods.entries()) {
    const { pod, node } = run.sources.get(shown.get(label) ?? '')?.place ?? {}
    if (!shown.has(label)) continue
    const event = { ph: 'M', pid: index + 1 } as const
    yield { ...event, name: 'process_name', args: { name: `pod ${label}` } }
    yield { ...event, name: 'process_sort_index', args: { sort_index: index } }
    const labels = [pod, node].filter((one) => typeof one === 'string').join(' on ')
    if (labels !== '') yield { ...event, name: 'process_labels', args: { labels } }
  }
}

/** @param tid the number of the thread. A viewer needs different ones, also in other processes. */
function* mpiEvents(
  { metric, track, slices }: MpiTrack,
  tid: number,
  { pidOf, microseconds }: Numbers,
): Generator<TraceEvent> {
  const pid = pidOf(track.source)
  yield { name: 'thread_name', ph: 'M', pid, tid, args: { name: nameOf(track) } }
  for (const { from, to, elapsed, mpiSeconds, calls, bytes } of slices) {
    const ts = microseconds(track.source, from)
    const dur = microseconds(track.source, to) - ts
    const name = `${Math.round((100 * mpiSeconds) / elapsed)} % in MPI`
    const args = { mpi_seconds: rounded(mpiSeconds), elapsed: rounded(elapsed), calls, bytes }
    yield { name, cat: metric, ph: 'X', ts, dur, pid, tid, args }
  }
}

function* counterEvents(
  one: TimedTrack,
  ends: Ends,
  { pidOf, microseconds }: Numbers,
): Generator<TraceEvent> {
  const { track, metric, section, measures } = one
  const pid = pidOf(track.source)
  const thing = [metric, section, nameOf(track)].filter((word) => word !== '').join(' ')
  for (const [index, measure] of measures.entries()) {
    if (WITHOUT_COUNTER.get(metric)?.includes(measure.key)) continue
    const name = `${thing}: ${measure.title}`
    for (const { at, value } of counterPoints(one, measure, track.values[index] ?? [], ends)) {
      const args = { [measure.unit || 'value']: rounded(value) }
      yield { name, cat: metric, ph: 'C', ts: microseconds(track.source, at), pid, args }
    }
  }
}

function nameOf({ program, pid }: TimedTrack['track']): string {
  return pid === null ? program : `${program} ${pid}`
}

/** The time in MPI of a process between two samples. */
interface MpiSlice {
  /** In seconds since the first timepoint of the log. */
  readonly from: number
  readonly to: number
  /** The seconds of the process between the samples; fewer than `to - from` if it has ended. */
  readonly elapsed: number
  /** The seconds in calls of MPI, of all threads. */
  readonly mpiSeconds: number
  readonly calls: number
  readonly bytes: number
}

/** A process of MPI, with its time in MPI. */
interface MpiTrack {
  readonly metric: string
  readonly track: SectionTrack
  readonly slices: readonly MpiSlice[]
}

/**
 * Yields the processes of MPI with the time that they spent in MPI between samples. The first
 * slice of a process begins at the end of MPI_Init. All slices together have the whole time in MPI.
 */
function* mpiTracks({ run }: ChosenRun): Generator<MpiTrack> {
  for (const section of run.sections.values()) {
    const { metric } = section
    const times = JOB_TIMES.find((one) => one.metric === metric)
    if (times?.section !== section.section.name) continue
    for (const track of section.tracks.values())
      yield { metric, track, slices: slicesOf(track, times, readerOf(section, track)) }
  }
}

/** Returns the growth of a counter until a sample; for the first sample, its value. */
type ReadGrowth = (column: string, index: number) => number

function readerOf({ measures }: SectionRun, { first, seconds, values }: SectionTrack): ReadGrowth {
  const places = new Map(measures.map(({ name }, index) => [name, index]))
  return (column, index) => {
    const place = places.get(column) ?? -1
    if (index === 0) return first[place] ?? 0
    const passed = (seconds[index] ?? 0) - (seconds[index - 1] ?? 0)
    return (values[place]?.[index] ?? 0) * passed
  }
}

function slicesOf(
  { seconds }: SectionTrack,
  times: JobTimes,
  growth: ReadGrowth,
): readonly MpiSlice[] {
  return seconds.flatMap((at, index) => {
    const [elapsed, mpiSeconds] = [growth(times.elapsed, index), growth(times.inMpi, index)]
    if (elapsed <= 0) return []
    const from = index === 0 ? at - elapsed : (seconds[index - 1] ?? 0)
    const to = Math.min(from + elapsed, at)
    const [calls, bytes] = [growth(times.calls, index), growth(times.bytes, index)].map(Math.round)
    return [{ from, to, elapsed, mpiSeconds, calls: calls ?? 0, bytes: bytes ?? 0 }]
  })
}
