import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { collect } from '../../collected.ts'
import { runLammpsJob } from '../../lammps-job.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { runMiniCluster } from '../../operators/mini-cluster.ts'
import { LAMMPS_OF_TEN_SECONDS, runMpiJob } from '../../operators/mpi-job.ts'
import { startOperators } from '../../operators/start.ts'
import { installChart } from '../../release/installed-chart.ts'
import { withTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'

// The metric mpi-trace loads its recorder into unmodified LAMMPS: in an Indexed Job in a namespace
// that enforces Pod Security restricted, in an MPIJob of the MPI Operator, and in a MiniCluster of
// the Flux Operator. Its time in MPI is compared with the time that LAMMPS itself reports.

const NAME = 'ridealong-mpi'
const ASKS = { 'ridealong.dev/inject': 'mpi-trace', 'mpi-trace.ridealong.dev/rate': '1' }
const INTERVAL_MS = 1000
const ALLOWS = { 'ridealong.dev/tools': 'true' }

/**
 * The calls with which LAMMPS exchanges atoms between neighboring ranks (comm_brick.cpp). The time
 * in these calls, with the copies to and from their buffers, is its `Comm`. LAMMPS counts the
 * collective calls with the part of the program that makes them, such as `Output`.
 */
const EXCHANGE = new Set(['MPI_Irecv', 'MPI_Send', 'MPI_Wait', 'MPI_Waitany', 'MPI_Sendrecv'])

interface CallRow {
  readonly section: string
  readonly pod: string
  readonly pid: number
  readonly mpi_rank: number
  readonly call: string
  readonly communicator: string
  readonly mpi_peer: string
  readonly mpi_seconds: number
}

/** Returns the seconds that each process spent in the calls of EXCHANGE, by pod. */
function exchangeSeconds(rows: readonly CallRow[]): ReadonlyMap<string, readonly number[]> {
  const latest = new Map<string, CallRow>()
  for (const row of rows.filter(({ section, call }) => section === 'call' && EXCHANGE.has(call))) {
    const { pod, pid, call, communicator, mpi_peer } = row
    latest.set(JSON.stringify([pod, pid, call, communicator, mpi_peer]), row)
  }
  const sums = new Map<string, Map<number, number>>()
  for (const { pod, pid, mpi_seconds } of latest.values()) {
    const ofPod = sums.get(pod) ?? new Map<number, number>()
    sums.set(pod, ofPod.set(pid, (ofPod.get(pid) ?? 0) + mpi_seconds))
  }
  return new Map([...sums].map(([pod, ofPod]) => [pod, [...ofPod.values()]]))
}

/** Returns the sum of the numbers that LAMMPS prints in a line after each of its loops. */
function sumIn(output: string, line: RegExp): number {
  const found = [...output.matchAll(line)]
  if (found.length === 0) throw new Error(`LAMMPS printed no line that matches ${line}:\n${output}`)
  return found.reduce((sum, [, seconds]) => sum + Number(seconds), 0)
}

const AVERAGE_COMM = /^Comm +\| +[\d.e+-]+ +\| +([\d.e+-]+) +\|/gm
const LOOP_TIME = /^Loop time of ([\d.e+-]+) on/gm

const averageOf = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Verifies that the time of two ranks in MPI differs from the `Comm` of LAMMPS by at most 3 % of
 * the run. The copies to and from the buffers take 1 to 2 % of the run, however long the ranks
 * wait.
 */
function agrees(t: Test, measured: readonly number[], output: string, where: string): void {
  t.equal(measured.length, 2, `two ranks of ${where} were recorded`)
  const [own, comm] = [averageOf(measured), sumIn(output, AVERAGE_COMM)]
  const times = `${where}: ${own.toFixed(2)} s in MPI, Comm ${comm.toFixed(2)} s`
  t.ok(Math.abs(own - comm) < 0.03 * sumIn(output, LOOP_TIME), times)
}

const logOf = (cluster: Cluster, namespace: string, pod: string, container: string) =>
  kubectl(cluster, ['logs', pod, '-n', namespace, '-c', container])

async function podWith(cluster: Cluster, namespace: string, part: string): Promise<string> {
  const { items } = JSON.parse(
    await kubectl(cluster, ['get', 'pods', '-n', namespace, '-o', 'json']),
  )
  const names: readonly string[] = items.map(({ metadata }: { metadata: { name: string } }) => {
    return metadata.name
  })
  const name = names.find((candidate) => candidate.includes(part))
  if (name === undefined) throw new Error(`no pod of ${names} has ${part} in its name`)
  return name
}

/**
 * Reads a value until it no longer changes. The workers of an MPIJob still run after the job has
 * ended, so the last samples of the ranks may not be in the logs yet.
 */
async function settled<Value>(read: () => Promise<Value>): Promise<Value> {
  for (let earlier = await read(); ; ) {
    await sleep(3 * INTERVAL_MS)
    const now = await read()
    if (isDeepStrictEqual(now, earlier)) return now
    earlier = now
  }
}

/** The command of a container in which mpirun starts two ranks. */
const TWO_RANKS = `cd /tmp; mpirun --oversubscribe -n 2 ${LAMMPS_OF_TEN_SECONDS}`

/**
 * Changes the input of LAMMPS so that the second of two ranks has three quarters of the atoms. With
 * two thirds, other programs on the machine can hide the difference.
 */
const DIVIDE = 's/^create_box/processors 2 1 1\\n&/; s/^velocity/balance 1.0 x 0.25\\n&/'
const UNEVEN = [
  `cd /tmp; sed '${DIVIDE}' /in.lj > uneven.lj`,
  `mpirun --oversubscribe -n 2 ${LAMMPS_OF_TEN_SECONDS.replace('/in.lj', 'uneven.lj')}`,
].join('; ')

t.test('mpi-trace measures the communication of LAMMPS', async (t) => {
  const setting = await installTool(t)
  const { cluster, api } = setting

  await t.test('in a Job, in a namespace that enforces Pod Security restricted', (t) =>
    measuresJob(t, setting),
  )

  await t.test('the report names the rank with more atoms, and the call', (t) =>
    reportNamesRank(t, setting),
  )

  await startOperators(t, cluster, api, ['flux-operator', 'mpi-operator'])

  // sshd starts the ranks, without the variables of its container.
  await t.test('in an MPIJob whose mpirun exports LD_PRELOAD', (t) => measuresMpiJob(t, setting))

  await t.test('in a MiniCluster', (t) => measuresMiniCluster(t, setting))
})

async function installTool(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME, withTools('mpi-trace'))
  return { api, cluster }
}

type Setting = Awaited<ReturnType<typeof installTool>>

async function measuresJob(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'mpi-job'
  const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, space, { labels: { ...ALLOWS, ...enforce } })
  await runLammpsJob(cluster, space, TWO_RANKS, ASKS)
  const { rows } = await collect(t, cluster, space, 'job/melt')
  const seconds = exchangeSeconds(rows)
  t.equal(seconds.size, 4, 'the ranks of four pods were recorded')
  for (const [pod, measured] of seconds) {
    agrees(t, measured, await logOf(cluster, space, pod, 'app'), pod)
  }
}

async function reportNamesRank(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'mpi-uneven'
  await createNamespace(t, api, space, { labels: ALLOWS })
  await runLammpsJob(cluster, space, UNEVEN, ASKS, 1)
  const { page } = await collect(t, cluster, space, 'job/melt')
  const { findings } = page.findings
  const waiting = findings.find(({ rule }) => rule === 'waiting-in-point-to-point')
  t.match(waiting?.sentence, /MPI rank 0 for MPI rank 1\b.*mostly in MPI_/)
}

async function measuresMpiJob(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'mpi-mpi'
  await createNamespace(t, api, space, { labels: ALLOWS })
  await runMpiJob(cluster, space, { launcher: ASKS, worker: ASKS, exported: ['LD_PRELOAD'] })
  const seconds = await settled(async () => {
    return exchangeSeconds((await collect(t, cluster, space, 'mpijob/melt')).rows)
  })
  const launcher = await podWith(cluster, space, 'launcher')
  const output = await logOf(cluster, space, launcher, 'mpi')
  agrees(t, [...seconds.values()].flat(), output, 'the MPIJob')
}

async function measuresMiniCluster(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'mpi-flux'
  await createNamespace(t, api, space, { labels: ALLOWS })
  await runMiniCluster(cluster, space, ASKS)
  const { rows } = await collect(t, cluster, space, 'minicluster/lammps')
  const output = await logOf(cluster, space, await podWith(cluster, space, '-0-'), 'lammps')
  agrees(t, [...exchangeSeconds(rows).values()].flat(), output, 'the MiniCluster')
}
