import t from 'tap'
import { collect } from '../../collected.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { type MpiJobSettings, runMpiJob } from '../../operators/mpi-job.ts'
import { startOperators } from '../../operators/start.ts'
import { installChart } from '../../release/installed-chart.ts'
import { withTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'

// In an MPIJob of the MPI Operator, sshd starts the ranks without the variables of its container.
// The webhook adds variables to the launcher with which mpirun forwards those of mpi-trace. Three
// forms of the same job are run with and without the metric: the ranks are recorded, and the output
// and the exit code of the launcher are the same.

const NAME = 'ridealong-mpi-forwarding'
const ASKS = { 'ridealong.dev/inject': 'mpi-trace', 'mpi-trace.ridealong.dev/rate': '1' }
const PROGRAM =
  '--mca mpi_yield_when_idle 1 lmp -in /in.lj -log none -var steps 200 -var seconds 60'

const FORMS: Readonly<Record<string, MpiJobSettings>> = {
  plain: {},
  exported: { exported: ['OTHER=1'] },
  listed: { env: { OMPI_MCA_mca_base_env_list: 'OTHER=2' } },
}

/** Returns the pod of the launcher, which was created once. */
async function launcherOf(cluster: Cluster, namespace: string) {
  const here = ['-n', namespace, '-l', 'training.kubeflow.org/job-role=launcher']
  const { items } = JSON.parse(await kubectl(cluster, ['get', 'pods', ...here, '-o', 'json']))
  if (items.length !== 1) throw new Error(`${items.length} launchers in ${namespace}`)
  return items[0]
}

/**
 * Returns the exit code and the lines of a launcher's output. The numbers, which differ in each
 * run, the order of lines of several processes, and the namespace do not count.
 */
async function endOf(cluster: Cluster, namespace: string) {
  const { metadata, status } = await launcherOf(cluster, namespace)
  const { state } = status.containerStatuses.find(({ name }: { name: string }) => name === 'mpi')
  const output = await kubectl(cluster, ['logs', metadata.name, '-n', namespace, '-c', 'mpi'])
  const text = output.replaceAll(namespace, 'SPACE').replaceAll(/[\d.]+(e[-+]\d+)?/g, 'N')
  const lines = text.split('\n').map((line) => line.replaceAll(/ +/g, ' ').trim())
  return { code: state.terminated.exitCode, lines: lines.sort() }
}

async function variablesOf(cluster: Cluster, namespace: string): Promise<string> {
  const { spec } = await launcherOf(cluster, namespace)
  return JSON.stringify(spec.containers[0].env)
}

async function runForm(cluster: Cluster, space: string, settings: MpiJobSettings) {
  await runMpiJob(cluster, space, { program: PROGRAM, ...settings })
  return endOf(cluster, space)
}

t.test('mpirun forwards the variables of mpi-trace in an MPIJob', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME, withTools('mpi-trace'))
  await startOperators(t, cluster, api, ['mpi-operator'])
  for (const [form, settings] of Object.entries(FORMS)) {
    await t.test(form, async (t) => {
      const [plain, traced] = [`mpi-${form}-plain`, `mpi-${form}`]
      for (const space of [plain, traced])
        await createNamespace(t, api, space, { labels: { 'ridealong.dev/tools': 'true' } })
      const without = await runForm(cluster, plain, settings)
      const asked = { ...settings, launcher: ASKS, worker: ASKS }
      const withTrace = await runForm(cluster, traced, asked)
      t.match(await variablesOf(cluster, traced), /OMPI_MCA_orte_launch_agent/)
      t.equal(without.code, 0)
      t.strictSame(withTrace, without)
      const { rows } = await collect(t, cluster, traced, 'mpijob/melt')
      t.match(without.lines.join('\n'), /Total wall time/)
      const ranks = rows.filter(({ section }) => section === 'rank')
      t.strictSame([...new Set(ranks.map(({ mpi_rank }) => mpi_rank))].sort(), [0, 1])
      t.equal(new Set(ranks.map(({ pod }) => pod)).size, 2)
    })
  }
  await t.test('workers without the tool run as if the launcher had none', async (t) => {
    const [plain, traced] = ['mpi-alone-plain', 'mpi-alone']
    for (const space of [plain, traced])
      await createNamespace(t, api, space, { labels: { 'ridealong.dev/tools': 'true' } })
    const without = await runForm(cluster, plain, {})
    t.strictSame(await runForm(cluster, traced, { launcher: ASKS }), without)
    t.match(await variablesOf(cluster, traced), /OMPI_MCA_orte_launch_agent/)
  })
})
