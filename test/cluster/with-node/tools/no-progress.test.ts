import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { openFolder } from '../../../observers/pod.ts'
import { collect } from '../../collected.ts'
import { lammpsJob } from '../../lammps-job.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { buildMiniCluster, makeCurveCertificate } from '../../operators/mini-cluster.ts'
import { startOperators } from '../../operators/start.ts'
import { installChart } from '../../release/installed-chart.ts'
import { withTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'

// MPI jobs that make no progress: two Jobs whose ranks are in one pod, and a MiniCluster with a
// rank in each of two pods. `top` and the report name the call, the rank that is late, and what it
// does.

const NAME = 'ridealong-no-progress'
const ASKS = { 'ridealong.dev/inject': 'mpi-trace', 'mpi-trace.ridealong.dev/rate': '1' }
const SOURCE = fileURLToPath(new URL('../../../tools/mpi/programs/stuck.c', import.meta.url))
const SINCE = '^(Since the start|(Since|For) [\\d.]+ (s|min)( \\d+ s)?( after the start)?), '
const ALLREDUCE = 'in MPI_Allreduce number 6 on MPI_COMM_WORLD\\.'

t.test('jobs that make no progress have a finding', async (t) => {
  const setting = await install(t)

  await t.test('a rank of a Job sleeps', (t) => {
    const pattern = `${SINCE}MPI ranks 0-1 wait ${ALLREDUCE} MPI rank 2 has not come: it sleeps`
    return checkJob(t, setting, 'sleep', pattern)
  })

  await t.test('the collective calls of a Job do not match', (t) =>
    checkJob(t, setting, 'other', 'These calls do not match: all members'),
  )

  await t.test('a rank of a MiniCluster is stopped', (t) => checkMiniCluster(t, setting))
})

async function install(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME, withTools('mpi-trace'))
  const programs = openFolder('ridealong-programs-')
  t.teardown(() => rmSync(programs, { recursive: true, force: true }))
  // The processes of the pods have other users.
  chmodSync(programs, 0o755)
  execFileSync('mpicc.openmpi', ['-O1', '-w', '-pthread', '-o', join(programs, 'stuck'), SOURCE])
  return { cluster, api, programs }
}

type Setting = Awaited<ReturnType<typeof install>>

/** Creates an object in a namespace of its own, and checks what `top` and the report say of it. */
async function check(
  t: Test,
  { cluster }: Setting,
  space: string,
  object: object,
  pattern: RegExp,
) {
  const here = ['-n', space]
  await kubectl(cluster, ['apply', ...here, '-f', '-'], JSON.stringify(object))
  const { kind, metadata } = object as {
    readonly kind: string
    readonly metadata: { name: string }
  }
  const workload = `${kind.toLowerCase()}/${metadata.name}`
  const words = ['top', workload, ...here, '--kubeconfig', cluster.kubeconfig, '--once']
  let said: readonly (string | null)[] = []
  await until(`top says why ${workload} makes no progress`, async () => {
    const { out } = await run([...words, '-o', 'json'])
    const lines = out === '' ? [] : JSON.parse(out).lines
    said = lines.map(({ no_progress }: { readonly no_progress: string | null }) => no_progress)
    return said.some((sentence) => sentence !== null)
  })
  t.match(
    said.find((sentence) => sentence !== null),
    pattern,
  )
  const { page } = await collect(t, cluster, space, workload)
  const found = page.findings.findings.filter(({ rule }) => rule === 'no-progress')
  t.equal(found.length, 1)
  t.match(found[0]?.sentence, pattern)
}

async function checkJob(t: Test, setting: Setting, mode: string, pattern: string): Promise<void> {
  const space = `stuck-${mode}`
  await createNamespace(t, setting.api, space, { labels: { 'ridealong.dev/tools': 'true' } })
  const command = `exec mpirun --oversubscribe -n 3 /programs/stuck ${mode}`
  const job = lammpsJob(1, command, ASKS)
  const { spec } = job.spec.template
  const volumeMounts = [{ name: 'programs', mountPath: '/programs', readOnly: true }]
  const containers = spec.containers.map((container) => ({ ...container, volumeMounts }))
  const volumes = [{ name: 'programs', hostPath: { path: setting.programs, type: 'Directory' } }]
  const template = { ...job.spec.template, spec: { ...spec, containers, volumes } }
  const object = { ...job, spec: { ...job.spec, template } }
  await check(t, setting, space, object, new RegExp(pattern))
}

async function checkMiniCluster(t: Test, setting: Setting): Promise<void> {
  const { cluster, api, programs } = setting
  await startOperators(t, cluster, api, ['flux-operator'])
  const space = 'stuck-flux'
  await createNamespace(t, api, space, { labels: { 'ridealong.dev/tools': 'true' } })
  const curveCert = await makeCurveCertificate(cluster, space)
  const command = '/programs/stuck stop'
  const object = buildMiniCluster(curveCert, { annotations: ASKS, command, programs })
  const pattern = `${SINCE}MPI rank 0 waits ${ALLREDUCE} MPI rank 1 has not come: it is stopped\\.$`
  await check(t, setting, space, object, new RegExp(pattern))
}
