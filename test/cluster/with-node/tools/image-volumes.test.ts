import t, { type Test } from 'tap'
import type { InstallationCheck } from '../../../../src/pods/doctor/check.ts'
import { run } from '../../../cli/command.ts'
import type { Api } from '../../api.ts'
import { collect } from '../../collected.ts'
import { type JobPod, podsOfCompleted } from '../../completed-job.ts'
import { lammpsJob, runLammpsJob } from '../../lammps-job.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { configurationName } from '../../release/helm.ts'
import { installChart } from '../../release/installed-chart.ts'
import { withTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'

// The built-in tools are mounted from their image, by a containerd that has image volumes, into
// unmodified LAMMPS in a namespace that enforces Pod Security restricted.

const NAME = 'ridealong-images'
const SPACE = 'image-volumes'
const ASKS = { 'ridealong.dev/inject': 'true,mpi-trace,cpu-profile' }
const LABELS = {
  'ridealong.dev/tools': 'true',
  'pod-security.kubernetes.io/enforce': 'restricted',
}

/**
 * The command of a container that prints its mounts of tools, and in which mpirun starts two ranks
 * of LAMMPS for five seconds.
 */
const LAMMPS = [
  'grep /opt/ridealong/ /proc/self/mountinfo; cd /tmp',
  'mpirun --oversubscribe -n 2 lmp -in /in.lj -log none -var steps 1000000 -var seconds 5',
].join('; ')

interface Setting {
  readonly cluster: Cluster
  readonly api: Api
}

t.test('tools are mounted from their image and record an application', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const values = [...withTools('cpu-profile', 'mpi-trace'), '--set', 'tools.imageVolumes=true']
  await installChart(t, cluster, api, NAME, values)
  await createNamespace(t, api, SPACE, { labels: LABELS })
  await t.test('no policy warns about the pod', (t) => isAdmitted(t, { cluster, api }))
  await runLammpsJob(cluster, SPACE, LAMMPS, ASKS, 1)
  const [pod] = await podsOfCompleted(cluster, SPACE, 'melt')
  if (pod === undefined) throw new Error('the Job has no pod')
  await t.test('the pod has no installer', async (t) => hasNoInstaller(t, pod))
  await t.test('both tools have recorded both ranks', (t) => hasRecorded(t, cluster))
  await t.test('the dynamic linker has loaded both libraries', async (t) => {
    const log = await kubectl(cluster, ['logs', pod.metadata.name, '-n', SPACE, '-c', 'app'])
    t.match(log, 'Loop time of')
    const mounts = log.split('\n').filter((line) => line.includes(' /opt/ridealong/'))
    t.equal(mounts.length, 2, mounts.join('\n'))
    t.notMatch(mounts.join('\n'), 'noexec')
    t.notMatch(log, /ld\.so|cannot be preloaded/)
  })
  await t.test('explain and doctor know it', (t) => isExplained(t, cluster, pod))
})

/** Creates the pod of the Job in a dry run, with all webhooks and policies. */
async function isAdmitted(t: Test, { api }: Setting): Promise<void> {
  const { template } = lammpsJob(1, LAMMPS, ASKS).spec
  const metadata = { ...template.metadata, name: 'tried' }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec }
  const answer = await api.post(`/api/v1/namespaces/${SPACE}/pods?dryRun=All`, pod)
  t.equal(answer.status, 201)
  t.strictSame(answer.warnings, [])
}

interface Volume {
  readonly name: string
  readonly image?: object
}

function hasNoInstaller(t: Test, { spec }: JobPod): void {
  const { initContainers, volumes } = spec as {
    readonly initContainers: readonly { readonly name: string }[]
    readonly volumes: readonly Volume[]
  }
  t.strictSame(
    initContainers.map(({ name }) => name),
    ['vitals', 'mpi-trace', 'cpu-profile'],
  )
  const images = volumes.filter(({ image }) => image !== undefined)
  t.equal(images.length, 1, 'both tools have one image volume')
  t.match(images[0]?.name, /^ridealong-lib-mpi-trace-/)
}

async function hasRecorded(t: Test, cluster: Cluster): Promise<void> {
  const { rows } = await collect(t, cluster, SPACE, 'job/melt')
  const ranks = rows.filter(({ metric, section }) => metric === 'mpi-trace' && section === 'rank')
  t.strictSame([...new Set(ranks.map(({ mpi_rank }) => mpi_rank))].sort(), [0, 1])
  const profiled = rows.filter(
    ({ metric, section, program }) =>
      metric === 'cpu-profile' && section === 'process' && program === 'lmp',
  )
  t.equal(profiled.length, 2)
  for (const { profile, samples } of profiled) {
    t.equal(profile, 'complete')
    t.ok(samples > 50, `${samples} samples`)
  }
}

async function isExplained(t: Test, { kubeconfig }: Cluster, pod: JobPod): Promise<void> {
  const where = ['--kubeconfig', kubeconfig, '-n', SPACE]
  const explained = await run(['explain', `pod/${pod.metadata.name}`, ...where])
  t.equal(explained.code, 0, explained.err)
  t.match(explained.out, /the library is mounted from its image/)
  const which = ['--webhook-configuration', configurationName(NAME)]
  const words = ['doctor', '--kubeconfig', kubeconfig, ...which]
  const { out } = await run([...words, '--namespace', 'default', '--output', 'json'])
  const checks: readonly InstallationCheck[] = JSON.parse(out).checks
  t.match(
    checks.filter(({ name }) => name === 'image volumes'),
    [
      { verdict: 'ok', sentence: 'the apiserver has version 1.36' },
      { verdict: 'ok', sentence: /^1 of 1 nodes have them/ },
    ],
  )
}
