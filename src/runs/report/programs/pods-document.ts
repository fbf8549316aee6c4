import { rounded, withoutNoise } from '../../../lib/round.ts'
import type { RecordedProcess } from '../../jobs/recorded-job.ts'
import type { ReportModel } from '../data.ts'
import { markedKeys } from '../document/parts-document.ts'
import { type Group, type SummaryColumn, summaryColumns } from '../summary.ts'
import type { NumberSource, ProgramTotals } from './program-totals.ts'
import type { TotalName } from './quantities.ts'

/** The totals of a program in the document, and the number by which each is multiplied. */
const FIELDS = [
  ['processes', 'processes', 1],
  ['cpu_seconds', 'cpuSeconds', 1],
  ['peak_rss_kib', 'peakBytes', 1 / 1024],
  ['bytes_read', 'bytesRead', 1],
  ['bytes_written', 'bytesWritten', 1],
  ['context_switches', 'contextSwitches', 1],
] as const satisfies readonly (readonly [string, TotalName, number])[]

/** The means of samples in the first table, by the keys of their columns. */
const MEANS: Readonly<Record<string, string>> = {
  cpu: 'cpu_percent',
  voluntary: 'voluntary_switches_per_second',
  involuntary: 'involuntary_switches_per_second',
}

/** The most processes of MPI of all pods. */
const MAX_MPI_PROCESSES = 20_000

/**
 * Returns the pods of `report --output json`: for each pod its programs, and its processes of MPI.
 * Each number names the log that it comes from, and why this log was chosen. The programs are those
 * of the page.
 */
export function podsDocument({
  run,
  groups,
  jobs,
  pods,
  podOf,
  page,
}: Omit<ReportModel, 'found' | 'efficiency'>) {
  const columns = summaryColumns(run.measures.process.slice(0, run.usualMeasures))
  const places = new Map([...run.sources].map(([log, { place }]) => [podOf(log), place]))
  const rows = groups.map((group, index) => ({ group, marks: page.rows[index]?.marks ?? [] }))
  const programs = Map.groupBy(rows, ({ group }) => group.pod)
  const processes = jobs.flatMap((job) => job.processes)
  const kept = new Set(processes.slice(0, MAX_MPI_PROCESSES))
  const mpi = Map.groupBy(processes, ({ pod }) => pod)
  return pods.map((label) => {
    const { pod = null, namespace = null, node = null } = places.get(label) ?? {}
    const all = mpi.get(label) ?? []
    const processes = all.filter((process) => kept.has(process))
    const omitted = all.length - processes.length
    return {
      podIndex: label,
      pod,
      namespace,
      node,
      programs: (programs.get(label) ?? []).map(({ group, marks }) => ({
        ...programOf(group, columns),
        outliers: markedKeys(page.columns, marks),
      })),
      ...(all.length > 0 && { mpi_ranks: processes.map(mpiRankOf) }),
      ...(omitted > 0 && { omitted_mpi_ranks: omitted }),
    }
  })
}

function programOf(group: Group, columns: readonly SummaryColumn[]) {
  const { program, totals, sampled } = group
  const means = columns.flatMap(({ key, of, isMean }) => {
    if (!isMean) return []
    return [[MEANS[key] ?? key, rounded(of(group))] as const]
  })
  const isRead = (value: number | null) => value !== null && sampled !== undefined
  const sampledSources = means.flatMap(([field, value]) => {
    return isRead(value) ? [[field, sampled as NumberSource] as const] : []
  })
  return {
    program,
    ...totalsOf(totals),
    ...(Object.fromEntries(means) as Record<string, number | null>),
    unaccounted_cpu_seconds: rounded(totals?.unseenSeconds ?? 0),
    sources: { ...sourcesOf(totals), ...Object.fromEntries(sampledSources) },
  }
}

type TotalField = (typeof FIELDS)[number][0]

function totalsOf(totals: ProgramTotals | undefined) {
  const fields = FIELDS.map(([field, name, factor]) => {
    const value = totals?.totals[name]?.value ?? null
    return [field, value === null ? null : withoutNoise(value * factor)] as const
  })
  return Object.fromEntries(fields) as Record<TotalField, number | null>
}

function sourcesOf(totals: ProgramTotals | undefined) {
  const sources = FIELDS.flatMap(([field, name]) => {
    const { value = null, log = '', metric = '', reason } = totals?.totals[name] ?? {}
    return value === null ? [] : [[field, { log, metric, reason }] as const]
  })
  return Object.fromEntries(sources) as Partial<Record<TotalField, NumberSource>>
}

/** Returns a process of MPI. All of its numbers come from one log. */
function mpiRankOf(process: RecordedProcess) {
  const { rank, job, program, pid, state, elapsed, seconds, calls, bytes, source } = process
  return {
    mpi_rank: rank,
    job,
    program,
    pid,
    state,
    elapsed_seconds: rounded(elapsed),
    mpi_seconds: rounded(seconds),
    calls,
    bytes,
    source,
  }
}
