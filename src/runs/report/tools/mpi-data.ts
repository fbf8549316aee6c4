import { rounded } from '../../../lib/round.ts'
import { maximum, median, sumBy } from '../../../lib/statistics.ts'
import type { RecordedJob, RecordedProcess } from '../../jobs/recorded-job.ts'
import type { Titled } from '../plots.ts'
import { markRows, type SummaryRow } from '../summary.ts'

/** The time in calls of MPI, by job. */
export interface MpiData {
  /** The jobs with the most time in MPI, the one with the most first. */
  readonly jobs: readonly MpiJobData[]
  /** The number of jobs that are left out. */
  readonly omitted: number
}

/** The processes of one MPI_COMM_WORLD, and their calls. */
export interface MpiJobData {
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  /** The number of processes of MPI_COMM_WORLD. */
  readonly size: number
  /** Why the processes cannot be compared; null if they can. */
  readonly problem: string | null
  /** The columns of `rows`: the process, its time in MPI, and the calls with the most time. */
  readonly columns: readonly Titled[]
  /** A row for each process, in the order of the ranks in MPI_COMM_WORLD. */
  readonly rows: readonly MpiRow[]
  /** The number of processes that are left out. */
  readonly omitted: number
  readonly calls: readonly MpiCallData[]
  /** The number of functions that are left out of `calls`. */
  readonly omittedCalls: number
}

/** A process. The numbers are those of the columns. */
export interface MpiRow extends SummaryRow {
  readonly mpiRank: number
}

/** The calls of one function in all processes of a job. All times are in seconds. */
export interface MpiCallData {
  readonly call: string
  readonly calls: number
  readonly seconds: number
  /** The time in percent of the time since MPI_Init of all processes. */
  readonly percent: number
  /** The least time, the median and the greatest time of a process. */
  readonly spread: readonly [number, number, number]
  /** The longest call, in milliseconds. */
  readonly longestMs: number
  readonly bytes: number
}

/** The most jobs, processes of all jobs, and functions of a job that the page shows. */
const MAX_JOBS = 20
const MAX_PROCESSES = 5000
const MAX_CALLS = 40
/** The most functions with a column of their own. */
const MAX_COLUMNS = 8
/** The distance from the median that an outlier exceeds, as a part of the time since MPI_Init. */
const FLOOR = 0.01

/** Builds the times of the page; undefined if no calls of MPI were recorded. */
export function mpiData(jobs: readonly RecordedJob[]): MpiData | undefined {
  const all = jobs
    .map((job) => ({ job, seconds: sumBy(job.processes, ({ seconds }) => seconds) }))
    .sort((a, b) => b.seconds - a.seconds)
  if (all.length === 0) return undefined
  const shown = all.slice(0, MAX_JOBS)
  const most = Math.floor(MAX_PROCESSES / shown.length)
  return {
    jobs: shown.map(({ job }) => jobData(job, most)),
    omitted: all.length - shown.length,
  }
}

/** @param most the number of processes that the page has room for */
function jobData({ job, size, problem, processes }: RecordedJob, most: number): MpiJobData {
  const calls = callsIn(processes)
  const named = calls.slice(0, MAX_COLUMNS).map(({ call }) => call)
  const kept = processes.length <= most ? processes : extremes(processes, most)
  const floor = FLOOR * (median(processes.map(({ elapsed }) => elapsed)) ?? 0)
  const rows = kept.map((process) => rowOf(process, named))
  const floors = [null, floor, 100 * FLOOR, null, null, ...named.map(() => floor), floor]
  return {
    job,
    size,
    problem,
    columns: [...COLUMNS, ...named.map(callColumn), OTHER_CALLS],
    rows: markRows(rows, () => '', floors),
    omitted: processes.length - kept.length,
    calls: compareCalls(calls.slice(0, MAX_CALLS), processes),
    omittedCalls: Math.max(calls.length - MAX_CALLS, 0),
  }
}

const COLUMNS: readonly Titled[] = [
  { key: 'elapsed', title: 'Since MPI_Init', unit: 's', meaning: 'time since the end of MPI_Init' },
  { key: 'mpi_seconds', title: 'In MPI', unit: 's', meaning: 'time in calls of MPI' },
  {
    key: 'percent',
    title: 'Share',
    unit: '%',
    meaning: 'time in calls of MPI, in percent of the time since MPI_Init',
  },
  { key: 'calls', title: 'Calls', unit: '', meaning: 'calls of MPI' },
  { key: 'bytes', title: 'Sent', unit: 'bytes', meaning: 'bytes sent, put or written' },
]

const OTHER_CALLS: Titled = {
  key: 'other',
  title: 'other calls',
  unit: 's',
  meaning: 'time in all other calls of MPI',
}

function callColumn(call: string): Titled {
  return { key: call, title: call, unit: 's', meaning: `time in ${call}` }
}

function rowOf(process: RecordedProcess, named: readonly string[]) {
  const { pod, program, rank, elapsed, seconds, calls, bytes } = process
  const known = secondsByCall(process)
  const times = named.map((name) => known.get(name) ?? 0)
  const other = Math.max(seconds - sumBy(times, (time) => time), 0)
  const percent = elapsed > 0 ? (100 * seconds) / elapsed : 0
  return {
    pod,
    program: `MPI rank ${rank}${program === null ? '' : `, ${program}`}`,
    mpiRank: rank,
    values: [elapsed, seconds, percent, calls, bytes, ...times, other].map(rounded),
  }
}

/** Returns the seconds of a process in each function. */
function secondsByCall({ rows }: RecordedProcess): Map<string, number> {
  const known = new Map<string, number>()
  for (const { call, seconds } of rows) known.set(call, (known.get(call) ?? 0) + seconds)
  return known
}

/** Keeps the processes with the most and with the least time in MPI, in their order. */
function extremes(processes: readonly RecordedProcess[], most: number): readonly RecordedProcess[] {
  const sorted = [...processes].sort((a, b) => a.seconds - b.seconds)
  const half = most >> 1
  const kept = new Set([...sorted.slice(0, half), ...sorted.slice(sorted.length - (most - half))])
  return processes.filter((process) => kept.has(process))
}

/** The calls of one function in all processes of a job. */
interface CallTotal {
  readonly call: string
  calls: number
  seconds: number
  bytes: number
  longestMs: number
}

/** Returns the functions of all processes, those with the most time first. */
function callsIn(processes: readonly RecordedProcess[]): readonly CallTotal[] {
  const all = new Map<string, CallTotal>()
  for (const row of processes.flatMap(({ rows }) => rows)) {
    const { call } = row
    let total = all.get(call)
    if (total === undefined) {
      total = { call, calls: 0, seconds: 0, bytes: 0, longestMs: 0 }
      all.set(call, total)
    }
    total.calls += row.calls
    total.seconds += row.seconds
    total.bytes += row.bytes
    total.longestMs = Math.max(total.longestMs, row.longestMs)
  }
  return [...all.values()].sort((a, b) => rounded(b.seconds) - rounded(a.seconds))
}

/**
 * Compares the processes. For each function, this needs a list of all processes, so it is done only
 * for the functions that the page shows.
 */
function compareCalls(
  shown: readonly CallTotal[],
  processes: readonly RecordedProcess[],
): readonly MpiCallData[] {
  const elapsed = sumBy(processes, (process) => process.elapsed)
  const times = new Map(shown.map(({ call }) => [call, new Array(processes.length).fill(0)]))
  for (const [at, { rows }] of processes.entries())
    for (const { call, seconds } of rows) {
      const own = times.get(call)
      if (own !== undefined) own[at] += seconds
    }
  return shown.map(({ call, calls, seconds, longestMs, bytes }) => ({
    call,
    calls,
    seconds: rounded(seconds),
    percent: rounded(elapsed > 0 ? (100 * seconds) / elapsed : 0),
    spread: spreadOf(times.get(call) ?? []),
    longestMs,
    bytes,
  }))
}

function spreadOf(times: readonly number[]): MpiCallData['spread'] {
  const least = times.reduce((low, time) => Math.min(low, time), Number.POSITIVE_INFINITY)
  return [rounded(least), rounded(median(times) ?? 0), rounded(maximum(times) ?? 0)]
}
