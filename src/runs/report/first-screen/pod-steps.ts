import type { JobTimes } from '../../jobs/recorded-job.ts'
import { JOB_TIMES } from '../../metrics/recorded-jobs.ts'
import { COUNTING_METRICS } from '../../metrics/usual-sections.ts'
import type { CollectedRun } from '../gather.ts'
import type { SectionRun } from '../section.ts'
import type { Track } from '../track.ts'
import { counterSteps, intervalSteps, type RateStep } from './steps.ts'

/** Returns steps anew at each call, because all steps of a large run would need much memory. */
export type ReadSteps = () => Iterable<RateStep>

/** The steps of one process. */
export interface ProcessSteps {
  readonly pid: number | null
  /** The processors that its threads used. */
  readonly ran: ReadSteps
  /** The threads that could run and waited for a processor; no steps if that was not read. */
  readonly waited: ReadSteps
}

/** The steps of a pod, from which its activity is computed. */
export interface PodSteps {
  readonly processes: readonly ProcessSteps[]
  /** The parts of the time in which all processes of a container waited for storage. */
  readonly stalls: readonly ReadSteps[]
  readonly delays: readonly DelaySteps[]
  readonly mpi: readonly MpiSteps[]
}

/** The part of the time in which a process waited for storage: its block I/O delay. */
export interface DelaySteps {
  readonly pid: number | null
  readonly waited: ReadSteps
}

/**
 * The steps of a process of MPI: the part of the time in which it was in MPI, and the parts in
 * which it waited for a processor, or slept outside of MPI; no steps of waiting and sleeping if
 * that was not counted.
 */
export interface MpiSteps {
  readonly pid: number | null
  readonly inMpi: ReadSteps
  readonly waitedOutside: ReadSteps
  readonly waitedInMpi: ReadSteps
  readonly asleepOutside: ReadSteps
}

/** Returns the start of a log in seconds since the start of the run, and its pod. */
export interface LogPlaces {
  readonly offsetOf: (source: string) => number
  readonly podOf: (source: string) => string
}

/** Clock ticks a second in /proc (USER_HZ), on every architecture that Kubernetes supports. */
const TICKS = 100

/** Returns the steps of all pods that were sampled. */
export function stepsByPod(run: CollectedRun, places: LogPlaces): Map<string, PodSteps> {
  const counted = COUNTING_METRICS.map((metric) => countedProcesses(run, metric, places))
  const sampled = sampledProcesses(run, places)
  const [stalls, delays] = [stallSteps(run, places), delaySteps(run, places)]
  const mpi = new Map(JOB_TIMES.flatMap((times) => [...mpiSteps(run, times, places)]))
  const pods = new Set([...counted, sampled].flatMap((all) => [...all.keys()]))
  for (const pod of mpi.keys()) pods.add(pod)
  return new Map(
    [...pods].map((pod) => {
      const processes = [...counted, sampled].map((all) => all.get(pod)).find(Boolean) ?? []
      const storage = { stalls: stalls.get(pod) ?? [], delays: delays.get(pod) ?? [] }
      return [pod, { processes, ...storage, mpi: mpi.get(pod) ?? [] }]
    }),
  )
}

/** Groups values by the pod of a track. */
function byPod<Value>(
  tracks: Iterable<Track>,
  { podOf }: LogPlaces,
  read: (track: Track) => Value,
): Map<string, Value[]> {
  const all = new Map<string, Value[]>()
  for (const track of tracks) {
    const pod = podOf(track.source)
    const known = all.get(pod) ?? []
    all.set(pod, known)
    known.push(read(track))
  }
  return all
}

function findSection({ sections }: CollectedRun, metric: string, name: string) {
  return sections.get(JSON.stringify([metric, name]))
}

function columnIn({ measures }: SectionRun, column: string): number {
  return measures.findIndex(({ name }) => name === column)
}

function countedProcesses(run: CollectedRun, metric: string, places: LogPlaces) {
  const section = findSection(run, metric, 'process')
  if (section === undefined) return new Map<string, ProcessSteps[]>()
  const [ran, waited] = [columnIn(section, 'cpu_time'), columnIn(section, 'run_delay')]
  return byPod(section.tracks.values(), places, (track): ProcessSteps => {
    const at = places.offsetOf(track.source)
    return {
      pid: track.pid,
      ran: () => counterSteps(track, ran, at),
      waited: () => counterSteps(track, waited, at),
    }
  })
}

function sampledProcesses({ processes, measures }: CollectedRun, places: LogPlaces) {
  const place = (name: string) => measures.process.findIndex(({ column }) => column === name)
  const [ran, waited] = [place('percent_cpu'), place('percent_wait')]
  return byPod(processes.values(), places, (track): ProcessSteps => {
    const at = places.offsetOf(track.source)
    return {
      pid: track.pid,
      ran: () => divided(intervalSteps(track, ran, at), 100),
      waited: () => divided(intervalSteps(track, waited, at), 100),
    }
  })
}

function* divided(steps: Iterable<RateStep>, by: number): Generator<RateStep> {
  for (const { from, to, rate } of steps) yield { from, to, rate: rate / by }
}

/** Returns the stalls of the containers of each pod in which they were read. */
function stallSteps(run: CollectedRun, places: LogPlaces): ReadonlyMap<string, ReadSteps[]> {
  const all = COUNTING_METRICS.map((metric) => {
    const section = findSection(run, metric, 'container')
    if (section === undefined) return new Map<string, ReadSteps[]>()
    const column = columnIn(section, 'io_full')
    const read = (track: Track) => () => counterSteps(track, column, places.offsetOf(track.source))
    const tracks = [...section.tracks.values()].filter((track) => hasSteps(read(track)()))
    return byPod<ReadSteps>(tracks, places, read)
  })
  return new Map(all.flatMap((own) => [...own]))
}

/** Returns the block I/O delays of the processes of each pod in which they were read. */
function delaySteps(run: CollectedRun, places: LogPlaces): ReadonlyMap<string, DelaySteps[]> {
  const column = run.measures.process.findIndex((measure) => measure.column === 'iodelay')
  const delays = (track: Track) =>
    partsOfInterval(intervalSteps(track, column, places.offsetOf(track.source)))
  const tracks = [...run.processes.values()].filter((track) => hasSteps(delays(track)))
  return byPod(tracks, places, (track) => ({ pid: track.pid, waited: () => delays(track) }))
}

function mpiSteps(run: CollectedRun, times: JobTimes, places: LogPlaces) {
  const section = findSection(run, times.metric, times.section)
  if (section === undefined) return new Map<string, MpiSteps[]>()
  const elapsed = columnIn(section, times.elapsed)
  const part = (name: string): MpiColumns => ({ elapsed, part: columnIn(section, name) })
  return byPod(section.tracks.values(), places, (track): MpiSteps => {
    const at = places.offsetOf(track.source)
    return {
      pid: track.pid,
      inMpi: () => partsOfLife(track, part(times.inMpi), at),
      waitedOutside: () => partsOfLife(track, part(times.waitedOutside), at),
      waitedInMpi: () => partsOfLife(track, part(times.waitedInMpi), at),
      asleepOutside: () => partsOfLife(track, part(times.asleepOutside), at),
    }
  })
}

/** The columns of the time of a process of MPI, and of a part of it. */
interface MpiColumns {
  readonly elapsed: number
  readonly part: number
}

/** Returns a part of the time of a process, such as that in MPI, divided by this time. */
function partsOfLife(track: Track, { elapsed, part }: MpiColumns, at: number): readonly RateStep[] {
  const lives = new Map([...counterSteps(track, elapsed, at)].map(({ to, rate }) => [to, rate]))
  return [...counterSteps(track, part, at)].flatMap((step) => {
    // After its end a process has no more time: its rates are about the time in which it lived.
    const life = lives.get(step.to) ?? 0
    return life > 0 ? { ...step, rate: Math.min(step.rate / life, 1) } : []
  })
}

/** Converts ticks of an interval to parts of its time. */
function* partsOfInterval(steps: Iterable<RateStep>): Generator<RateStep> {
  for (const { from, to, rate } of steps) yield { from, to, rate: rate / TICKS / (to - from) }
}

function hasSteps(steps: Iterable<RateStep>): boolean {
  for (const _ of steps) return true
  return false
}
