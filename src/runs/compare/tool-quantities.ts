import type { RecordedJob, RecordedProcess } from '../jobs/recorded-job.ts'
import { type FunctionByPod, profileByPod } from '../profiles/profile-by-pod.ts'
import type { ProfileRun } from '../profiles/profile-run.ts'
import { knownQuantity, MPI_ELAPSED, type QuantityFacts } from './run-facts.ts'

/** The most functions of a program that are compared: those with the most time. */
const MAX_FUNCTIONS = 200

/** The quantities of the time in calls of MPI, and of the time between them. */
export const MPI_TIME = 'ridealong.mpi.time'
export const OUTSIDE_MPI = 'ridealong.mpi.outside'

const outside = ({ elapsed, seconds }: RecordedProcess) => Math.max(elapsed - seconds, 0)

/** Measures the time of the processes of all MPI jobs. */
export function measureMpi(jobs: readonly RecordedJob[]): readonly QuantityFacts[] {
  const processes = jobs.flatMap((job) => job.processes)
  if (processes.length === 0) return []
  const byPart = (of: (process: RecordedProcess) => number) =>
    Object.fromEntries(processes.map((process) => [`MPI rank ${process.rank}`, of(process)]))
  const about = { of: 'process of MPI', metrics: metricsOf(jobs) } as const
  const problem = jobs.find((job) => job.problem !== null)?.problem ?? null
  const conflict = jobs.find((job) => job.conflict !== null)?.conflict ?? null
  const all = [
    {
      ...knownQuantity(
        { ...about, quantity: MPI_ELAPSED, title: 'since MPI_Init', unit: 's' },
        processes.reduce((most, { elapsed }) => Math.max(most, elapsed), 0),
        byPart(({ elapsed }) => elapsed),
      ),
      ...elapsedProblem(jobs),
    },
    knownQuantity(
      { ...about, quantity: MPI_TIME, title: 'in MPI', unit: 's' },
      sum(processes.map(({ seconds }) => seconds)),
      byPart(({ seconds }) => seconds),
    ),
    knownQuantity(
      { ...about, quantity: OUTSIDE_MPI, title: 'outside MPI', unit: 's' },
      sum(processes.map(outside)),
      byPart(outside),
    ),
    knownQuantity(
      { ...about, quantity: 'ridealong.mpi.io', title: 'sent with MPI', unit: 'bytes' },
      sum(processes.map(({ bytes }) => bytes)),
      byPart(({ bytes }) => bytes),
    ),
  ]
  // A sum is not known without some of the ranks, but MPI_Finalize is called by all.
  const reasonOf = (quantity: string) => (quantity === MPI_ELAPSED ? conflict : problem)
  return all.map((one) => {
    const reason = reasonOf(one.quantity)
    return reason === null ? one : { ...one, value: null, missing: reason }
  })
}

function metricsOf(jobs: readonly RecordedJob[]): readonly string[] {
  return [...new Set(jobs.map(({ metric }) => metric))]
}

/** Returns why the time from MPI_Init to MPI_Finalize is not the time of the run, if it is not. */
function elapsedProblem(jobs: readonly RecordedJob[]) {
  const isOpen = jobs.some(({ processes }) => processes.some(({ state }) => state !== 'finalized'))
  if (isOpen) return { value: null, missing: 'a process of MPI did not call MPI_Finalize' }
  return jobs.length > 1 ? { value: null, missing: `the run has ${jobs.length} MPI jobs` } : {}
}

/** Measures the time in each function of MPI, and its calls; null if no calls were recorded. */
export function measureCalls(jobs: readonly RecordedJob[]): readonly QuantityFacts[] | null {
  const processes = jobs.flatMap((job) => job.processes)
  if (processes.length === 0) return null
  const rows = processes.flatMap((process) => process.rows)
  return [...Map.groupBy(rows, ({ call }) => call)].flatMap(([call, own]) => {
    const name = { quantity: call, of: 'MPI call', metrics: metricsOf(jobs) }
    const [seconds, calls] = [sum(own.map((row) => row.seconds)), sum(own.map((row) => row.calls))]
    return [
      knownQuantity({ ...name, title: call, unit: 's' }, seconds),
      knownQuantity({ ...name, title: `${call}, calls`, unit: 'count' }, calls),
    ]
  })
}

/**
 * Measures the processor time in each function itself; null if no process was profiled.
 *
 * @param podOf returns the pod of a log
 */
export function measureFunctions(
  profiles: ProfileRun,
  podOf: (source: string) => string,
): readonly QuantityFacts[] | null {
  const byPods = [...profiles.values()]
    .filter(({ kind }) => kind === 'processor')
    .map((profile) => ({ ...profileByPod(profile, podOf), metrics: [profile.metric] }))
  if (!byPods.some(({ functions }) => functions.length > 0)) return null
  return byPods.flatMap(({ program, metrics, pods, functions }) => {
    const all = functions.map((one) => ({ ...one, seconds: selfSeconds(one) }))
    const kept = all.sort((a, b) => b.seconds - a.seconds).slice(0, MAX_FUNCTIONS)
    return kept.map(({ name, library, times, seconds }) => {
      const byPart = [...times].map(([index, { self }]) => [pods[index] ?? '', self] as const)
      const quantity = library === null ? name : `${name} (${library})`
      const of = `function of ${program}`
      const about = { quantity, of, title: quantity, unit: 's', metrics } as const
      return knownQuantity(about, seconds, Object.fromEntries(byPart))
    })
  })
}

function selfSeconds({ times }: FunctionByPod): number {
  return sum([...times.values()].map(({ self }) => self))
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
