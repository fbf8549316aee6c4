import type { ColumnReading } from '../evidence/column-reading.ts'
import type { SectionColumns, Thing, ThingOf } from '../evidence/evidence.ts'
import type { PodEvidence } from '../evidence/run-evidence.ts'
import { RUNNING_SAMPLES } from '../findings/cpu-rules.ts'
import { RUNNING_COUNTERS } from '../findings/placed-process.ts'
import type { RunningShares } from './mpi-factors.ts'

/** The columns about running and waiting for a processor. */
export const RUNNING_READS: readonly SectionColumns[] = [RUNNING_COUNTERS, RUNNING_SAMPLES]

/** Seconds of running and of waiting for a processor, summed over threads. */
export interface RunningTime {
  readonly thing: Thing
  readonly ran: number
  /** Null if it was not read. */
  readonly waited: number | null
  /** The seconds of the run in which they were counted. */
  readonly seconds: number
}

/**
 * Returns the times of the processes of a pod since the first sample of each, from the counters of
 * vitals or pressure, otherwise from the samples of perf-sysstat. So the times do not contain the
 * start of a program before its first sample, unless `fromStart` is true.
 */
export function runningTimes(pod: PodEvidence, fromStart: boolean): readonly RunningTime[] {
  const counted = pod.things(RUNNING_COUNTERS).flatMap((thing) => countedTime(thing, fromStart))
  const isWhole = counted.some(({ waited }) => waited !== null)
  if (isWhole) return counted
  const sampled = pod.things(RUNNING_SAMPLES).flatMap(sampledTime)
  return sampled.length > 0 ? sampled : counted
}

function countedTime(
  thing: ThingOf<typeof RUNNING_COUNTERS>,
  fromStart: boolean,
): readonly RunningTime[] {
  const [cpu, delay] = [thing.readings.get('cpu_time'), thing.readings.get('run_delay')]
  const ran = growthIn(cpu, fromStart)
  if (cpu === undefined || ran === null) return []
  const seconds = fromStart ? cpu.seconds : thing.to - thing.firstSeen
  return seconds > 0 ? [{ thing, ran, waited: growthIn(delay, fromStart), seconds }] : []
}

function growthIn(reading: ColumnReading | undefined, fromStart: boolean): number | null {
  const growth = reading?.growth ?? null
  return growth === null ? null : growth - (fromStart ? 0 : (reading?.early ?? 0))
}

function sampledTime(thing: ThingOf<typeof RUNNING_SAMPLES>): readonly RunningTime[] {
  const cpu = thing.readings.get('percent_cpu')
  const wait = thing.readings.get('percent_wait')
  if (cpu === undefined || cpu.covered <= 0) return []
  const waited = wait === undefined || wait.last === null ? null : wait.sum / 100
  return [{ thing, ran: cpu.sum / 100, waited, seconds: cpu.covered }]
}

/**
 * Returns the shares of the time of one thread: if several threads ran or waited at once, the mean
 * of these threads.
 */
export function sharesOf(ran: number, waited: number, seconds: number): RunningShares {
  const threads = Math.max((ran + waited) / seconds, 1)
  return { ran: ran / seconds / threads, waited: waited / seconds / threads, threads }
}

/** The part of a process' time since MPI_Init in which its running must have been counted. */
const MIN_COVERED = 0.5

/** Returns the shares of a process of MPI; see `sharesOfProcesses`. */
export type ProcessShares = (process: {
  readonly pid: number | null
  readonly elapsed: number
}) => RunningShares | null

/**
 * Returns a function that returns the shares of a process of a pod; null if the waiting for a
 * processor was not counted for at least half of its time since MPI_Init.
 */
export function sharesOfProcesses(pod: PodEvidence): ProcessShares {
  const known = [false, true].map((fromStart) => longestByProcess(runningTimes(pod, fromStart)))
  return ({ pid, elapsed }) => {
    const found = known
      .map((times) => times.get(pid ?? -1))
      .find((time) => time !== undefined && time.seconds >= MIN_COVERED * elapsed)
    if (found === undefined || found.waited === null) return null
    return sharesOf(found.ran, found.waited, found.seconds)
  }
}

/** Returns the longest of the programs that each process ran one after another, by process id. */
function longestByProcess(times: readonly RunningTime[]): ReadonlyMap<number, RunningTime> {
  const longest = new Map<number, RunningTime>()
  for (const time of times) {
    const { pid } = time.thing
    const known = pid === null ? undefined : longest.get(pid)
    if (pid !== null && time.seconds > (known?.seconds ?? 0)) longest.set(pid, time)
  }
  return longest
}
