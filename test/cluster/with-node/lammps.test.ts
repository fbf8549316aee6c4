import t, { type Test } from 'tap'
import {
  type Parsed,
  parse,
  type Row,
  summaryOf,
  timepointsIn,
} from '../../observers/prerequisites.ts'
import { collect } from '../collected.ts'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { startWebhook } from '../webhook.ts'

// Observes a real application under MPI with four ranks: in one pod, and in two pods with two ranks
// each.

/**
 * The duration of the loop of LAMMPS in seconds. LAMMPS runs for a fixed time, not for a number of
 * steps, so that a log has about the same number of timepoints on every machine.
 */
const SECONDS = Number(process.env.LAMMPS_SECONDS ?? 40)
const SPACE = 'lammps'

interface Shape {
  readonly name: string
  readonly pods: number
  /** Ranks in each pod. */
  readonly ranks: number
  readonly seconds: number
  readonly annotations?: object
}

/**
 * Allows more ranks than cores, and prevents ptrace between ranks. The command runs as an ordinary
 * user, because mpirun refuses to run as root.
 */
const MPIRUN = [
  'mpirun --oversubscribe --bind-to none',
  '--mca btl_vader_single_copy_mechanism none --mca orte_tmpdir_base /tmp',
].join(' ')

/**
 * Returns the shell command of a pod. After LAMMPS, `times` prints the processor time of mpirun and
 * its ranks. The sleep gives the observer time for its last samples.
 */
function command({ ranks, seconds }: Shape): string {
  const lammps = `lmp -in in.lj -log none -var steps 1000000 -var seconds ${seconds}`
  return `${MPIRUN} -np ${ranks} ${lammps}; times; sleep 3`
}

function job(shape: Shape) {
  const container = {
    name: 'app',
    image: APPLICATIONS.lammps,
    command: ['sh', '-c', command(shape)],
    env: [
      { name: 'HOME', value: '/tmp' },
      { name: 'OMP_NUM_THREADS', value: '1' },
    ],
  }
  const securityContext = { runAsUser: 1000, runAsGroup: 1000 }
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '1',
    ...shape.annotations,
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: shape.name },
    spec: {
      completions: shape.pods,
      parallelism: shape.pods,
      completionMode: 'Indexed',
      backoffLimit: 0,
      template: {
        metadata: { annotations },
        spec: { containers: [container], securityContext, restartPolicy: 'Never' },
      },
    },
  }
}

/** The log of a pod's observer, unchanged and parsed. */
interface Observed extends Parsed {
  readonly log: string
  /** CPU seconds of mpirun and its ranks, from the shell's `times`. */
  readonly seconds: number
}

/** Runs a Job until it completes, and returns the logs of its observers. */
async function observe(t: Test, cluster: Cluster, shape: Shape): Promise<readonly Observed[]> {
  const here = ['-n', SPACE]
  await kubectl(cluster, ['apply', ...here, '-f', '-'], JSON.stringify(job(shape)))
  const patience = `--timeout=${shape.seconds + 300}s`
  await kubectl(cluster, [
    'wait',
    '--for=condition=Complete',
    `job/${shape.name}`,
    ...here,
    patience,
  ])
  const selector = `job-name=${shape.name}`
  const { items } = JSON.parse(
    await kubectl(cluster, ['get', 'pods', ...here, '-l', selector, '-o', 'json']),
  )
  t.equal(items.length, shape.pods)
  return Promise.all(
    // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
    items.map(async ({ metadata, status }: any) => {
      t.equal(status.initContainerStatuses.at(-1).restartCount, 0)
      t.match(metadata.annotations['ridealong.dev/status'], '"counters":"all"')
      const log = await kubectl(cluster, ['logs', metadata.name, ...here, '-c', 'perf-sysstat'])
      const said = await kubectl(cluster, ['logs', metadata.name, ...here, '-c', 'app'])
      t.match(
        said,
        new RegExp(`Loop time of .* on ${shape.ranks} procs`),
        'LAMMPS completed its loop',
      )
      return { log, ...parse('perf-sysstat', log), seconds: secondsOf(said) }
    }),
  )
}

/**
 * Parses the last line of `times`, such as 0m27.8s 0m12.7s: the user and system time of the shell's
 * children. Returns the sum in seconds.
 */
function secondsOf(said: string): number {
  const last = said.trimEnd().split('\n').at(-1) ?? ''
  const parts = [...last.matchAll(/(\d+)m([\d.]+)s/g)]
  return parts.reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )
}

/** Returns the rows of the middle half of the timepoints, when all ranks are running. */
function inFullSwing({ data }: Observed): readonly (readonly Row[])[] {
  const edge = Math.ceil(data.length / 4)
  return data.slice(edge, -edge).map((timepoint) => timepoint.cpu_statistics_task ?? [])
}

const programs = (rows: readonly Row[]) => rows.map(({ program }) => program).sort()

function holdsWhole(t: Test, { log, data, metadata }: Observed, seconds: number): void {
  t.equal(data.length, timepointsIn(log), 'the parser yields every timepoint')
  t.ok(data.length >= seconds / 2, `the log has ${data.length} timepoints in ${seconds} s`)
  t.equal(metadata.counters, 'all')
  t.match(log.trimEnd(), /SUMMARY END$/)
}

/** Returns the CPU seconds of all programs in the summary. */
function cpuOf(rows: readonly Row[]): number {
  return rows.reduce(
    (sum, row) => sum + Number(row.cpu_seconds) + Number(row.unaccounted_cpu_seconds),
    0,
  )
}

/**
 * Checks that the four ranks of LAMMPS, each identified by its pod's index and its process id, are
 * in the output of collect and in the report.
 */
async function hasFourRanks(t: Test, cluster: Cluster, { name, pods }: Shape): Promise<void> {
  const { rows, page } = await collect(t, cluster, SPACE, `job/${name}`)
  const ofLammps = rows.filter(({ kind, program }) => kind === 'process' && program === 'lmp')
  const ranks = new Set(ofLammps.map(({ pod_index, pid }) => `${pod_index} ${pid}`))
  t.equal(ranks.size, 4, `collected ranks: ${[...ranks]}`)
  t.equal(rows.filter(({ kind }) => kind === 'log').length, pods)
  t.equal(page.pods.length, pods)
  const lines = page.plots.lines.filter(({ program }) => program === 'lmp')
  t.strictSame(
    new Set(lines.map(({ pod, pid }) => `${pod} ${pid}`)),
    ranks,
    'the report shows the ranks',
  )
  t.ok(lines.every(({ values }) => values[0]?.some((value) => Number(value) > 0)))
  const processes = page.columns.findIndex(({ key }) => key === 'processes')
  const inTable = page.rows.filter(({ program }) => program === 'lmp')
  t.equal(inTable.length, pods)
  t.ok(inTable.every(({ values }) => values[processes] === 4 / pods))
}

t.test('LAMMPS under mpirun is observed', async (t) => {
  const setting = await startObserving(t)

  await t.test('without a target-command, every process of the container has rows', (t) =>
    everyProcessHasRows(t, setting),
  )

  await t.test('with a target-command, only the ranks have rows, and each rank is busy', (t) =>
    onlyRanksHaveRows(t, setting),
  )
})

async function startObserving(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  return { cluster }
}

type Setting = Awaited<ReturnType<typeof startObserving>>

async function everyProcessHasRows(t: Test, { cluster }: Setting): Promise<void> {
  const shape = { name: 'all', pods: 2, ranks: 2, seconds: Math.ceil(SECONDS / 3) }
  for (const observed of await observe(t, cluster, shape)) {
    holdsWhole(t, observed, shape.seconds)
    for (const rows of inFullSwing(observed)) {
      t.strictSame(programs(rows), ['lmp', 'lmp', 'mpirun', 'sh'])
    }
    const cpu = cpuOf(summaryOf(observed.log).slice(1))
    const { seconds } = observed
    t.ok(
      Math.abs(cpu - seconds) <= seconds * 0.03,
      `observer: ${cpu} CPU seconds, kernel: ${seconds}`,
    )
  }
  await hasFourRanks(t, cluster, shape)
}

async function onlyRanksHaveRows(t: Test, { cluster }: Setting): Promise<void> {
  const annotations = { 'ridealong.dev/target-command': 'lmp' }
  const shape = { name: 'ranks', pods: 1, ranks: 4, seconds: SECONDS, annotations }
  const [observed] = await observe(t, cluster, shape)
  if (observed === undefined) return
  holdsWhole(t, observed, shape.seconds)
  const every = observed.data.flatMap((timepoint) => timepoint.cpu_statistics_task ?? [])
  t.equal(new Set(every.map(({ pid }) => pid)).size, 4)
  for (const rows of inFullSwing(observed)) {
    t.strictSame(programs(rows), ['lmp', 'lmp', 'lmp', 'lmp'])
  }
  // Four ranks share fewer cores, so a busy rank computes or waits for a core.
  for (const pid of new Set(every.map(({ pid }) => pid))) {
    const own = inFullSwing(observed).flatMap((rows) => rows.filter((row) => row.pid === pid))
    const busy = own.reduce((sum, row) => sum + busyOf(row), 0) / own.length
    t.ok(busy > 80, `rank of process ${pid} is busy for ${busy.toFixed(0)} % of the time`)
  }
  // The observer may miss the CPU time of each rank in its last interval, which `times`
  // includes.
  const [cpu, { seconds }] = [cpuOf(summaryOf(observed.log).slice(1)), observed]
  const isTrue = cpu <= seconds * 1.03 && cpu >= seconds * 0.97 - shape.ranks
  t.ok(isTrue, `observer: ${cpu} CPU seconds, kernel: ${seconds}`)
  await hasFourRanks(t, cluster, shape)
}

/** Returns the percentage of an interval in which a process computed or waited for a core. */
function busyOf({ percent_cpu, percent_wait }: Row): number {
  return Number(percent_cpu) + Number(percent_wait)
}
