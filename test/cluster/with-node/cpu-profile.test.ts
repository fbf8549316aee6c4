import t, { type Test } from 'tap'
import { collect } from '../collected.ts'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { runMiniCluster } from '../operators/mini-cluster.ts'
import { startOperators } from '../operators/start.ts'
import { installChart } from '../release/installed-chart.ts'
import { createNamespace, runningCluster } from '../running.ts'

// The metric cpu-profile loads gperftools' CPU profiler into unmodified LAMMPS: in an Indexed Job
// in a namespace that enforces Pod Security restricted, and in a MiniCluster of the Flux Operator.

const NAME = 'ridealong-profile'
const [, REPOSITORY, TAG] = /^ghcr\.io\/(.*):(.*)$/.exec(IMAGES['cpu-profile']) ?? []
const TOOL_IMAGE = 'toolImages.cpu-profile'
const WITH_TOOL = [
  ...['--set', `${TOOL_IMAGE}.registry=ghcr.io`],
  ...['--set', `${TOOL_IMAGE}.repository=${REPOSITORY}`],
  ...['--set', `${TOOL_IMAGE}.tag=${TAG}`],
]
const ASKS = { 'ridealong.dev/inject': 'cpu-profile' }
const ALLOWS = { 'ridealong.dev/tools': 'true' }

/** Returns the three functions with the most time of their own, by rank and process. */
function hottest(rows: readonly FunctionRow[]): ReadonlyMap<string, readonly string[]> {
  const ofLammps = rows.filter(({ kind, program }) => kind === 'function' && program === 'lmp')
  const processes = new Set(ofLammps.map(({ rank, pid }) => `${rank} ${pid}`))
  return new Map(
    [...processes].map((process) => {
      const own = ofLammps.filter(({ rank, pid }) => `${rank} ${pid}` === process)
      own.sort((one, other) => other.self_seconds - one.self_seconds)
      return [process, own.slice(0, 3).map((row) => row.function)]
    }),
  )
}

interface FunctionRow {
  readonly kind: string
  readonly rank: string | number
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
    t.ok(isNamed, `rank and process ${process}: ${functions.join(', ')}`)
  }
}

const create = (cluster: Cluster, namespace: string, object: object) =>
  kubectl(cluster, ['create', '-n', namespace, '-f', '-'], JSON.stringify(object))

const waitFor = (cluster: Cluster, namespace: string, condition: string, object: string) =>
  kubectl(cluster, ['wait', `--for=${condition}`, object, '-n', namespace, '--timeout=240s'])

/** A Job of four pods, in which each pod runs LAMMPS for ten seconds. */
const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'melt' },
  spec: {
    completions: 4,
    parallelism: 4,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: {
      metadata: { annotations: ASKS },
      spec: {
        restartPolicy: 'Never',
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 1000,
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'app',
            image: APPLICATIONS.lammps,
            command: ['sh', '-c', 'lmp -in in.lj -log none -var steps 1000000 -var seconds 10'],
            env: [
              { name: 'HOME', value: '/tmp' },
              { name: 'OMP_NUM_THREADS', value: '1' },
            ],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    },
  },
}

t.test('cpu-profile names the functions of LAMMPS', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME, WITH_TOOL)

  await t.test('in a Job, in a namespace that enforces Pod Security restricted', async (t) => {
    const space = 'profile-job'
    const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' }
    await createNamespace(t, api, space, { labels: { ...ALLOWS, ...enforce } })
    await create(cluster, space, JOB)
    await waitFor(cluster, space, 'condition=Complete', 'job/melt')
    await computesForces(t, cluster, space, 'job/melt', 4)
  })

  await t.test('without the label of the namespace, the pods have no observers', async (t) => {
    const space = 'profile-denied'
    await createNamespace(t, api, space)
    await create(cluster, space, JOB)
    await waitFor(cluster, space, 'condition=Complete', 'job/melt')
    const words = ['get', 'pods', '-n', space, '-o', 'json']
    const { items } = JSON.parse(await kubectl(cluster, words))
    t.equal(items.length, 4)
    for (const { metadata, spec } of items) {
      const status = JSON.parse(metadata.annotations['ridealong.dev/status'])
      t.match(status, { outcome: 'left', reason: 'tools-not-allowed' })
      t.equal(spec.initContainers, undefined)
    }
  })

  await t.test('in a MiniCluster', async (t) => {
    const space = 'profile-flux'
    await startOperators(t, cluster, api, ['flux-operator'])
    await createNamespace(t, api, space, { labels: ALLOWS })
    await runMiniCluster(cluster, space, ASKS)
    await computesForces(t, cluster, space, 'minicluster/lammps', 2)
  })
})
