import { until } from '../../../until.ts'
import { sampleOf } from '../../../webhook/server.ts'
import type { Defer } from '../ending.ts'
import { sampleUsage, type UsageSample } from '../usage.ts'
import { startArchive } from './archive-process.ts'
import { compactedSize, readSize } from './etcd-size.ts'
import type { Plane, Say, Size } from './measure.ts'
import { listJobs, NAMESPACES, type ObservedJob, runJobs } from './observed-jobs.ts'
import { type RunEnd, type SeenRuns, watchRuns } from './seen-runs.ts'

/** The programs whose usage is sampled, in this order. */
export const PROGRAMS = ['archive', 'kube-apiserver', 'etcd', 'kube-controller-manager', 'kwok']

/** The part of the runs of a wave that are kept. */
const KEPT = 5

/**
 * The minimum number of runs that are kept in a namespace. The archive writes no Run for a run if
 * it would delete the Run at once, because this number of later runs have ended.
 */
const MIN_KEPT = 50

/** What was measured while the runs of a wave went on. */
export interface Wave {
  readonly runs: number
  readonly pods: number
  /** The time from the first Job to the last final Run, in seconds. */
  readonly seconds: number
  readonly ends: readonly RunEnd[]
  readonly usage: readonly UsageSample[]
  /** The seconds until the Runs that are not kept were deleted. */
  readonly retentionSeconds: number
  /** The Runs after that, and MiB that etcd then used. */
  readonly keptRuns: number
  readonly etcd: number
}

export interface MeasuredRuns {
  readonly waves: readonly Wave[]
  /** A sentence for each Run that is not right. */
  readonly problems: readonly string[]
  /** The most Runs that are to be kept, and that existed at the same time. */
  readonly kept: number
  readonly mostRuns: number
  readonly mostPods: number
  /** MiB of etcd before the first run. */
  readonly etcdBefore: number
  /** The highest resident memory of the archive, in MiB. */
  readonly peak: number
  /** The requests with which the archive changed Runs, by verb. */
  readonly changes: ReadonlyMap<string, Changes>
}

export interface Changes {
  readonly count: number
  /** The average time until the apiserver answered. */
  readonly ms: number
}

/** Measures an archive during two waves of runs. The large run is one of the first wave. */
export async function measureRuns(
  plane: Plane,
  { runs, large }: Size,
  say: Say,
  defer: Defer,
): Promise<MeasuredRuns> {
  const perWave = Math.ceil(runs / 2)
  const perNamespace = Math.max(Math.ceil(perWave / KEPT / NAMESPACES.length), MIN_KEPT)
  const archive = await startArchive(plane.cluster, perNamespace)
  defer(archive.stop)
  const seen = watchRuns(plane.access)
  defer(async () => seen.stop())
  const kept = perNamespace * NAMESPACES.length
  const etcdBefore = (await readSize(plane.etcd)) / 1024 ** 2
  const waves: Wave[] = []
  const problems: string[] = []
  const pids = [archive.daemon.pid, ...pidsOf(plane)]
  for (const [index, size] of [large, 1].entries()) {
    const jobs = listJobs(`wave-${index + 1}`, perWave, size)
    const sampling = sampleUsage(pids)
    defer(async () => sampling.stop())
    const seconds = await runWave(plane, jobs, seen, say)
    sampling.stop()
    const retentionSeconds = await awaitRetention(seen, kept, say)
    say('waiting for compactions of etcd')
    const etcd = await compactedSize(plane.etcd)
    const found = seen.ends(new Map(jobs.map(({ name, pods }) => [name, pods])))
    problems.push(...found.problems)
    const pods = jobs.reduce((sum, job) => sum + job.pods, 0)
    const { ends } = found
    say(`the last final Run came ${Math.max(...ends.map(({ run }) => run)).toFixed(1)} s late`)
    const usage = sampling.samples
    const keptRuns = seen.runs
    waves.push({ runs: jobs.length, pods, seconds, ends, usage, retentionSeconds, keptRuns, etcd })
  }
  const { mostRuns, mostPods } = seen
  const peak = archive.peak()
  const changes = await readChanges(plane)
  await archive.stop()
  seen.stop()
  return { waves, problems, kept, mostRuns, mostPods, etcdBefore, peak, changes }
}

/** The verbs with which only the archive changes Runs. */
const VERBS = ['POST', 'APPLY', 'DELETE']

async function readChanges({ api }: Plane): Promise<ReadonlyMap<string, Changes>> {
  const { body } = await api.get('/metrics')
  const read = (verb: string, name: string) =>
    sampleOf(body, `apiserver_request_duration_seconds_${name}`, { resource: 'runs', verb }) ?? 0
  const changesOf = (verb: string) => {
    const count = read(verb, 'count')
    return { count, ms: (read(verb, 'sum') / count) * 1000 }
  }
  return new Map(VERBS.map((verb) => [verb, changesOf(verb)]))
}

function pidsOf({ cluster, kwok }: Plane): readonly number[] {
  return [...cluster.daemons, kwok]
    .filter(({ name }) => PROGRAMS.includes(name))
    .toSorted((a, b) => PROGRAMS.indexOf(a.name) - PROGRAMS.indexOf(b.name))
    .map(({ pid }) => pid)
}

/** Runs the Jobs, and returns the seconds until all have their final Runs. */
async function runWave(
  { api }: Plane,
  jobs: readonly ObservedJob[],
  seen: SeenRuns,
  say: Say,
): Promise<number> {
  const begin = performance.now()
  say(`running ${jobs.length} Jobs`)
  const names = jobs.map(({ name }) => name)
  const timer = setInterval(() => {
    say(`${seen.pods} pods exist, ${seen.gonePods} were deleted; ${seen.runs} Runs`)
  }, 30_000)
  try {
    await runJobs(api, jobs, seen)
    await until('all Runs are final', () => seen.hasAll(names), WAITING)
    const seconds = (performance.now() - begin) / 1000
    await until('all pods are deleted', () => seen.pods === 0, WAITING)
    return seconds
  } finally {
    clearInterval(timer)
  }
}

const WAITING = { patienceMs: 3_600_000, pauseMs: 250 }

async function awaitRetention(seen: SeenRuns, kept: number, say: Say): Promise<number> {
  say(`waiting until ${kept} of ${seen.runs} Runs are left`)
  const begin = performance.now()
  await until(`${kept} Runs are left`, () => seen.runs <= kept, WAITING)
  return (performance.now() - begin) / 1000
}
