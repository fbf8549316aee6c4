import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { collect } from '../../collected.ts'
import { comparable, podsOfCompleted } from '../../completed-job.ts'
import { lammpsJob, runLammpsJob } from '../../lammps-job.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { runMiniCluster } from '../../operators/mini-cluster.ts'
import { runMpiJob } from '../../operators/mpi-job.ts'
import { startOperators } from '../../operators/start.ts'
import { installChart } from '../../release/installed-chart.ts'
import { withTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'

// The metric cpu-profile loads gperftools' CPU profiler into unmodified LAMMPS: in an Indexed Job
// in a namespace that enforces Pod Security restricted, in an MPIJob of the MPI Operator, and in a
// MiniCluster of the Flux Operator.

const NAME = 'ridealong-profile'
const ASKS = { 'ridealong.dev/inject': 'cpu-profile' }
const ALLOWS = { 'ridealong.dev/tools': 'true' }

/** Returns the three functions with the most time of their own, by pod and process. */
function hottest(rows: readonly FunctionRow[]): ReadonlyMap<string, readonly string[]> {
  const ofLammps = rows.filter(({ kind, program }) => kind === 'function' && program === 'lmp')
  const processes = new Set(ofLammps.map(({ pod_index, pid }) => `${pod_index} ${pid}`))
  return new Map(
    [...processes].map((process) => {
      const own = ofLammps.filter(({ pod_index, pid }) => `${pod_index} ${pid}` === process)
      own.sort((one, other) => other.self_seconds - one.self_seconds)
      return [process, own.slice(0, 3).map((row) => row.function)]
    }),
  )
}

interface FunctionRow {
  readonly kind: string
  readonly pod_index: string | number
  readonly pid: number
  readonly program: string
  readonly function: string
  readonly self_seconds: number
}

/** Checks that the ranks spend most of their time where LAMMPS computes the forces. */
async function computesForces(
  t: Test,
  cluster: Cluster,
  namespace: string,
  workload: string,
  ranks: number,
): Promise<void> {
  const { rows } = await collect(t, cluster, namespace, workload)
  const found = hottest(rows)
  t.equal(found.size, ranks, `${found.size} processes of LAMMPS were profiled`)
  for (const [process, functions] of found) {
    const isNamed = functions.some((name) => name.includes('PairLJCut::compute'))
    t.ok(isNamed, `pod and process ${process}: ${functions.join(', ')}`)
  }
}

/** The command of a container that runs LAMMPS for ten seconds. */
const LAMMPS = 'lmp -in in.lj -log none -var steps 1000000 -var seconds 10'

/**
 * Returns the output of `ridealong inject` for a manifest. The catalog is that of the release, and
 * the namespace allows tools.
 */
async function throughInject(
  t: Test,
  cluster: Cluster,
  namespace: string,
  manifest: string,
  words: readonly string[],
): Promise<string> {
  const get = ['get', 'configmap', `${NAME}-catalog`, '-n', NAME, '-o', 'json']
  const { data } = JSON.parse(await kubectl(cluster, get))
  const allowing = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: ALLOWS },
  }
  const folder = t.testdir({
    catalog: data,
    'job.json': manifest,
    'namespaces.json': JSON.stringify(allowing),
  })
  const files = ['-f', `${folder}/job.json`, '--namespaces', `${folder}/namespaces.json`]
  const where = ['--catalog', `${folder}/catalog`, '-n', namespace]
  const { code, out, err } = await run(['inject', ...files, ...where, ...words])
  t.match({ code, err }, { code: 0, err: '' })
  return out
}

t.test('cpu-profile names the functions of LAMMPS', async (t) => {
  const setting = await installTool(t)
  const { cluster, api } = setting

  await t.test('in a Job, in a namespace that enforces Pod Security restricted', (t) =>
    profilesJob(t, setting),
  )

  await t.test('without the label of the namespace, the pods have no observers', (t) =>
    leavesWithoutLabel(t, setting),
  )

  await t.test('inject adds the same to a Job as the webhook, and --undo removes it', (t) =>
    injectMatchesWebhook(t, setting),
  )

  await startOperators(t, cluster, api, ['flux-operator', 'mpi-operator'])

  // sshd starts the ranks, without the variables of its container.
  await t.test('in an MPIJob whose mpirun exports the variables', (t) => profilesMpiJob(t, setting))

  await t.test('in a MiniCluster', (t) => profilesMiniCluster(t, setting))
})

async function installTool(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME, withTools('cpu-profile'))
  return { api, cluster }
}

type Setting = Awaited<ReturnType<typeof installTool>>

async function profilesJob(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'profile-job'
  const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, space, { labels: { ...ALLOWS, ...enforce } })
  await runLammpsJob(cluster, space, LAMMPS, ASKS)
  await computesForces(t, cluster, space, 'job/melt', 4)
}

async function leavesWithoutLabel(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'profile-denied'
  await createNamespace(t, api, space)
  await runLammpsJob(cluster, space, LAMMPS, ASKS)
  const words = ['get', 'pods', '-n', space, '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  t.equal(items.length, 4)
  for (const { metadata, spec } of items) {
    const status = JSON.parse(metadata.annotations['ridealong.dev/status'])
    t.match(status, { outcome: 'left', reason: 'tools-not-allowed' })
    t.equal(spec.initContainers, undefined)
  }
}

async function injectMatchesWebhook(t: Test, { api, cluster }: Setting): Promise<void> {
  const [apart, asked] = ['profile-apart', 'profile-asked']
  for (const space of [apart, asked]) await createNamespace(t, api, space, { labels: ALLOWS })
  const manifest = `${JSON.stringify(lammpsJob(4, LAMMPS, ASKS), undefined, 2)}\n`
  const injected = await throughInject(t, cluster, apart, manifest, [])
  t.equal(await throughInject(t, cluster, apart, injected, ['--undo']), manifest)
  await kubectl(cluster, ['create', '-n', apart, '-f', '-'], injected)
  const commanded = await podsOfCompleted(cluster, apart, 'melt')
  await kubectl(cluster, ['create', '-n', asked, '-f', '-'], manifest)
  const webhooked = await podsOfCompleted(cluster, asked, 'melt')
  t.equal(commanded.length, 4)
  t.match(commanded[0]?.spec, { initContainers: [{ name: 'cpu-profile-install' }, {}] })
  t.strictSame(commanded.map(comparable), webhooked.map(comparable))
  await computesForces(t, cluster, apart, 'job/melt', 4)
}

async function profilesMpiJob(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'profile-mpi'
  await createNamespace(t, api, space, { labels: ALLOWS })
  const exported = ['LD_PRELOAD', 'CPUPROFILE']
  // Without the group, which is that of the image, the observer cannot read the symbols.
  await runMpiJob(cluster, space, { launcher: ASKS, worker: ASKS, exported, group: 1000 })
  await computesForces(t, cluster, space, 'mpijob/melt', 2)
}

async function profilesMiniCluster(t: Test, { api, cluster }: Setting): Promise<void> {
  const space = 'profile-flux'
  await createNamespace(t, api, space, { labels: ALLOWS })
  await runMiniCluster(cluster, space, ASKS)
  await computesForces(t, cluster, space, 'minicluster/lammps', 2)
}
