import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { openFolder } from '../../../observers/pod.ts'
import { collect } from '../../collected.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { APPLICATIONS } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { catalogWithTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// Training jobs in Python whose processes start as with torchrun, Ray and multiprocessing. In each
// of them, the data loader of a rank hangs. The functions of PyTorch and Ray are stand-ins (see
// applications/python), so that the processes wait in the same functions, but compute nothing.

const SPACE = 'python'
const HERE = ['-n', SPACE]
const ASKS = { 'ridealong.dev/inject': 'python-profile', 'python-profile.ridealong.dev/rate': '2' }

interface Shape {
  readonly pods: number
  readonly command: string
  /** The number of ranks. The last one hangs. */
  readonly ranks: number
  /** How the data loader starts its process. */
  readonly start: 'fork' | 'spawn' | 'forkserver'
}

/** A worker of Ray with the task of training, and one without a task. */
const RAYLET = `
RANK=$JOB_COMPLETION_INDEX python3 /app/default_worker.py &
python3 /app/default_worker.py &
wait
exit 1`

/** The launcher has a RANK, too: the Kubeflow Training Operator sets it to the index of the pod. */
const TORCHRUN =
  'export RANK=$JOB_COMPLETION_INDEX; exec python3 /app/torchrun.py 2 python3 /app/train.py'

const TRAIN = 'export RANK=$JOB_COMPLETION_INDEX; exec python3 /app/train.py'

const SHAPES: Readonly<Record<string, Shape>> = {
  torchrun: {
    pods: 2,
    ranks: 4,
    command: TORCHRUN,
    start: 'fork',
  },
  ray: { pods: 2, ranks: 2, command: RAYLET, start: 'spawn' },
  forkserver: { pods: 1, ranks: 1, command: TRAIN, start: 'forkserver' },
  spawn: { pods: 1, ranks: 1, command: TRAIN, start: 'spawn' },
}

/** @param folder a folder of the node in which rank 0 writes its address */
function jobWith(name: string, { pods, ranks, command, start }: Shape, folder: string) {
  const variables = {
    WORLD_SIZE: ranks,
    HANGS: ranks - 1,
    START_METHOD: start,
    RENDEZVOUS: '/meet',
  }
  const env = Object.entries(variables).map(([key, value]) => ({ name: key, value: `${value}` }))
  const container = {
    name: 'app',
    image: APPLICATIONS.python,
    command: ['sh', '-c', command],
    env,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: 'meet', mountPath: '/meet' }],
  }
  const spec = {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    securityContext: {
      ...{ runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container],
    volumes: [{ name: 'meet', hostPath: { path: folder, type: 'Directory' } }],
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    // The other pods stay if one fails.
    spec: {
      ...{ completions: pods, parallelism: pods, completionMode: 'Indexed' },
      backoffLimitPerIndex: 0,
      template: { metadata: { annotations: ASKS }, spec },
    },
  }
}

t.test('training jobs in Python whose data loader hangs', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE, { labels: { 'ridealong.dev/tools': 'true' } })
  const words = ['--catalog', catalogWithTools(t), '--no-built-in-metrics']
  const webhook = await startWebhook(cluster, { words })
  t.teardown(() => webhook.remove())
  for (const [name, shape] of Object.entries(SHAPES)) {
    const job = jobWith(name, shape, meetingFolder(t, name))
    await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(job))
  }
  // All jobs hang at the same time.
  for (const [name, shape] of Object.entries(SHAPES)) {
    await t.test(`${name}: stacks groups the ranks`, (t) => groupsRanks(t, cluster, name, shape))
    await t.test(`${name}: top names the line`, (t) => namesLine(t, cluster, name, shape))
  }
  for (const [name, shape] of Object.entries(SHAPES))
    await t.test(`${name}: the report of the killed job`, (t) => reports(t, cluster, name, shape))
})

function meetingFolder(t: Test, name: string): string {
  const folder = openFolder(`ridealong-${name}-`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const meeting = join(folder, 'meet')
  mkdirSync(meeting)
  // The processes of the pods have other users.
  for (const path of [folder, meeting]) chmodSync(path, 0o777)
  return meeting
}

const DATA = new URL('../../applications/python/app/data.py', import.meta.url)
const LINES = readFileSync(DATA, 'utf8').split('\n')
const HUNG = LINES.findIndex((line) => line.endsWith('# never comes')) + 1

/** The rank that hangs waits for its data loader, and the others for this rank. */
async function groupsRanks(t: Test, cluster: Cluster, name: string, { ranks }: Shape) {
  const others = Array.from({ length: ranks - 1 }, (_, rank) => rank)
  // biome-ignore lint/suspicious/noExplicitAny: the groups of the output.
  let groups: readonly any[] = []
  const ranksIn = (pattern: RegExp) =>
    groups
      .filter(({ stack }) => pattern.test(stack.map((one: { function: string }) => one.function)))
      .flatMap((group) => group.ranks)
      .sort()
  await until(`the ranks of ${name} hang`, async () => {
    const words = ['stacks', `job/${name}`, ...HERE, '--kubeconfig', cluster.kubeconfig]
    const { out } = await run([...words, '-o', 'json'])
    groups = out === '' ? [] : JSON.parse(out)
    return ranksIn(/_get_data/).length === 1 && ranksIn(/all_reduce/).length === others.length
  })
  t.strictSame(ranksIn(/all_reduce/), others)
  t.strictSame(ranksIn(/_get_data/), [ranks - 1])
}

/** The finding of a job: who waits, and the line in which the process of the data loader is. */
function sentenceFor({ ranks }: Shape): RegExp {
  const line = `load_batch \\(/app/data\\.py:${HUNG}\\)`
  const worker = `Process \\d+ of the data loader waits in ${line}\\.$`
  const late = 'has not come: it waits for its data loader\\. '
  return ranks === 1
    ? new RegExp(`waits for its data loader\\. ${worker}`)
    : new RegExp(`waits? in all_reduce \\(torch/distributed/.*${late}${worker}`)
}

async function namesLine(t: Test, cluster: Cluster, name: string, shape: Shape): Promise<void> {
  const words = ['top', `job/${name}`, ...HERE, '--kubeconfig', cluster.kubeconfig, '--once']
  let said: readonly string[] = []
  await until(`top says why job/${name} makes no progress`, async () => {
    const { out } = await run([...words, '-o', 'json'])
    const lines = out === '' ? [] : JSON.parse(out).lines
    said = lines.flatMap(({ no_progress: one }: { no_progress: string | null }) => one ?? [])
    return said.length > 0
  })
  t.match(said[0], sentenceFor(shape))
}

const KILL = `
for process in /proc/[0-9]*; do
  case $(readlink $process/exe) in */python3*) kill -9 \${process#/proc/};; esac
done`

async function reports(t: Test, cluster: Cluster, name: string, shape: Shape): Promise<void> {
  const own = ['-l', `job-name=${name}`]
  const pods = await kubectl(cluster, ['get', 'pods', ...HERE, ...own, '-o', 'name'])
  // The container ends, and with it this command.
  for (const pod of pods.trim().split('\n'))
    await kubectl(cluster, ['exec', pod, ...HERE, '-c', 'app', '--', 'sh', '-c', KILL]).catch(
      () => undefined,
    )
  const failed = ['wait', 'pods', ...own, ...HERE, '--for=jsonpath={.status.phase}=Failed']
  await kubectl(cluster, [...failed, '--timeout=120s'])
  const { rows, page } = await collect(t, cluster, SPACE, `job/${name}`)
  const found = page.findings.findings.filter(({ rule }) => rule === 'no-progress')
  t.match(
    found.map(({ sentence }) => sentence),
    [sentenceFor(shape)],
  )
  const isOfRank = ({ section, function: line }: Record<string, unknown>) =>
    section === 'function' && /^compute \(\/app\/train\.py:/.test(`${line}`)
  const profiled = new Set(rows.filter(isOfRank).map(({ pod, pid }) => `${pod} ${pid}`))
  t.equal(profiled.size, shape.ranks, 'each rank has its profile')
}
