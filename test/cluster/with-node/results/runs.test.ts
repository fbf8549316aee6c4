import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { run } from '../../../cli/command.ts'
import { startTestArchive } from '../../archive/start.ts'
import { waitUntilEstablished } from '../../established.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { startOperators } from '../../operators/start.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// `runs` reads the summaries of observers in the status of real pods, with the rights of the role
// `view`. The programs print the accounts of their own cgroups at their end, with which the numbers
// of the cards are compared.

const SPACE = 'runs'
const ARCHIVE = 'runs-archive'
const HERE = ['-n', SPACE]
const ANNOTATIONS = {
  'ridealong.dev/inject': 'vitals',
  // Only one sample is taken. The summary has the use until the end.
  'vitals.ridealong.dev/rate': '60',
}

/** The largest relative difference between the card and the account of the kernel. */
const TOLERANCE = 0.03

/** Prints the CPU time and the memory peak of the container, of either version of cgroups. */
const ACCOUNTS = [
  'c=/sys/fs/cgroup',
  'if test -e $c/cgroup.controllers; then',
  "u=$(sed -n 's/usage_usec //p' $c/cpu.stat)000; m=$(cat $c/memory.peak);",
  'else u=$(cat $c/cpuacct/cpuacct.usage); m=$(cat $c/memory/memory.max_usage_in_bytes);',
  'fi; echo "accounts $u $m"',
].join('\n')

/** Computes for some seconds, and then uses some MiB for a moment. Fails if it cannot. */
function work(seconds: number, mebibytes: number): string {
  const busy = `end=$(($(date +%s) + ${seconds})); while [ $(date +%s) -lt $end ]; do :; done`
  const memory = `head -c ${mebibytes}M /dev/zero | tail -n 1 > /dev/null || exit 1`
  // On a busy machine, the container runtime may remove the cgroups before the last reading. The
  // readings before it are at most a second apart.
  return `${busy}\n${memory}\n${ACCOUNTS}\nsleep 2`
}

const RESOURCES = {
  requests: { cpu: '500m', memory: '128Mi' },
  limits: { memory: '256Mi' },
}

function template(command: string, resources: object = RESOURCES, restartPolicy = 'Never') {
  return {
    metadata: { annotations: ANNOTATIONS },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 2,
      securityContext: { runAsUser: 1000, runAsGroup: 1000 },
      containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', command], resources }],
    },
  }
}

function job(name: string, spec: object): object {
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }
}

/** Pod 1 fails until a time, and is tried again. */
const FAILS_FIRST = [
  'if test $JOB_COMPLETION_INDEX = 1',
  'test "$(date +%s)" -lt "$FAIL_UNTIL"; then exit 3; fi',
].join(' && ')

function jobSet(): object {
  const replicated = (name: string, count: number, command: string, cpu: string) => {
    const indexed = { completionMode: 'Indexed', completions: count, parallelism: count }
    const resources = { requests: { cpu, memory: '64Mi' }, limits: { memory: '256Mi' } }
    const spec = { ...indexed, backoffLimit: 0, template: template(command, resources) }
    return { name, replicas: 1, template: { spec } }
  }
  return {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: { name: 'train' },
    spec: {
      replicatedJobs: [
        replicated('leader', 1, work(4, 20), '100m'),
        replicated('workers', 2, work(6, 40), '250m'),
      ],
    },
  }
}

/** Returns the runs of the namespace as JSON, by KIND/NAME. */
async function readRuns(kubeconfig: string): Promise<ReadonlyMap<string, Card>> {
  const words = ['runs', ...HERE, '--kubeconfig', kubeconfig, '-o', 'json']
  const { code, out, err } = await run(words)
  if (code !== 0) throw new Error(err)
  return new Map(JSON.parse(out).map((card: Card) => [card.run, card]))
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a card.
type Card = any

/** Returns what the programs of a workload printed: CPU seconds, and the memory peak, by pod. */
async function accountsOf(cluster: Cluster, selector: string) {
  const names = await kubectl(cluster, ['get', 'pods', ...HERE, '-l', selector, '-o', 'name'])
  const accounts = names
    .trim()
    .split('\n')
    .map(async (name) => {
      const log = await kubectl(cluster, ['logs', name, ...HERE, '-c', 'app'])
      const [, cpu, memory] = /accounts (\d+) (\d+)/.exec(log) ?? []
      return cpu === undefined ? [] : [{ cpu: Number(cpu) / 1e9, memory: Number(memory) }]
    })
  return (await Promise.all(accounts)).flat()
}

const add = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

function isNear(t: Test, what: string, actual: number, expected: number): void {
  const difference = Math.abs(actual - expected) / expected
  t.ok(difference <= TOLERANCE, `${what}: ${actual}, and the kernel says ${expected}`)
}

/** Returns a kubeconfig with the rights of the role `view` in the namespace. */
async function viewer(t: Test, cluster: Cluster): Promise<string> {
  const create = [...HERE, 'create']
  const account = `--serviceaccount=${SPACE}:default`
  await kubectl(cluster, [...create, 'rolebinding', 'view', '--clusterrole=view', account])
  const raw = await kubectl(cluster, ['config', 'view', '--raw', '--flatten', '-o', 'json'])
  const config = JSON.parse(raw)
  const token = (await kubectl(cluster, [...create, 'token', 'default'])).trim()
  config.users[0].user = { token }
  return `${t.testdir({ kubeconfig: JSON.stringify(config) })}/kubeconfig`
}

async function createWorkloads(cluster: Cluster): Promise<void> {
  const now = Math.floor(Date.now() / 1000)
  const retried = `FAIL_UNTIL=${now + 25}\n${FAILS_FIRST}\n${work(4, 20)}`
  const indexed = { completionMode: 'Indexed', completions: 2, parallelism: 2 }
  const small = { limits: { memory: '32Mi' } }
  const slow = { limits: { cpu: '50m', memory: '256Mi' } }
  const objects = [
    job('plain', { backoffLimit: 0, template: template(work(8, 60)) }),
    job('retried', { ...indexed, backoffLimit: 6, template: template(retried) }),
    job('killed', { backoffLimit: 0, template: template(work(3, 64), small) }),
    job('throttled', { backoffLimit: 0, template: template(work(6, 20), slow) }),
    job('brief', { ttlSecondsAfterFinished: 0, template: template(work(8, 50)) }),
    job('endless', { template: template('while :; do :; done') }),
    jobSet(),
  ]
  for (const object of objects)
    await kubectl(cluster, ['create', ...HERE, '-f', '-'], JSON.stringify(object))
}

const CRDS = fileURLToPath(new URL('../../crds', import.meta.url))

/** Creates a MiniCluster, and in place of the Flux Operator the Job that it controls. */
async function createMiniCluster(t: Test, cluster: Cluster): Promise<void> {
  const definition = join(CRDS, 'flux-framework.org_miniclusters.yaml')
  await kubectl(cluster, ['apply', '--server-side', '-f', definition])
  t.teardown(() => kubectl(cluster, ['delete', '-f', definition]))
  await waitUntilEstablished(cluster, ['crd/miniclusters.flux-framework.org'])
  const [apiVersion, kind, name] = ['flux-framework.org/v1alpha2', 'MiniCluster', 'flux']
  const spec = { size: 2, containers: [{ image: DEBIAN_IMAGE, command: 'true' }] }
  const object = JSON.stringify({ apiVersion, kind, metadata: { name }, spec })
  const create = ['create', ...HERE, '-f', '-']
  const created = await kubectl(cluster, [...create, '-o', 'json'], object)
  const { uid } = JSON.parse(created).metadata
  const indexed = { completionMode: 'Indexed', completions: 2, parallelism: 2 }
  const endless = template('while :; do sleep 1; done')
  const job = {
    ...{ apiVersion: 'batch/v1', kind: 'Job', spec: { ...indexed, template: endless } },
    metadata: { name, ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] },
  }
  await kubectl(cluster, create, JSON.stringify(job))
}

const isOver = ({ phase }: Card) => ['Succeeded', 'Failed', 'Deleted'].includes(phase)

/** Returns the accounts in the log of a pod that is deleted a short time after it prints them. */
async function catchAccounts(cluster: Cluster, job: string) {
  const words = ['logs', ...HERE, `job/${job}`, '-c', 'app']
  let accounts: readonly number[] = []
  await until(`the log of ${job} has its accounts`, async () => {
    const log = await kubectl(cluster, words).catch(() => '')
    accounts = /accounts (\d+) (\d+)/.exec(log)?.slice(1).map(Number) ?? []
    return accounts.length > 0
  })
  const [cpu = 0, memory = 0] = accounts
  return { cpu: cpu / 1e9, memory }
}

/** Deletes two workloads as soon as their Runs say that they run. */
async function deleteWhileTheyRun(cluster: Cluster): Promise<void> {
  for (const [kind, name] of [
    ['job', 'endless'],
    ['minicluster', 'flux'],
  ] as const) {
    const run = [
      'get',
      'runs',
      ...HERE,
      '-o',
      `jsonpath={.items[?(@.spec.workload.name=="${name}")]}`,
    ]
    await until(`the Run of ${name} is there`, async () => {
      return (await kubectl(cluster, run)).includes('"phase":"Running"')
    })
    await kubectl(cluster, ['delete', kind, name, ...HERE, '--wait=false'])
  }
}

t.test('runs and their cards', { timeout: 400_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  await startOperators(t, cluster, api, ['jobset'])
  await createNamespace(t, api, SPACE)
  await startTestArchive(t, cluster, api, ARCHIVE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  await createMiniCluster(t, cluster)
  await createWorkloads(cluster)
  const kubeconfig = await viewer(t, cluster)
  const briefly = catchAccounts(cluster, 'brief')
  let cards: ReadonlyMap<string, Card> = new Map()
  await deleteWhileTheyRun(cluster)
  await until('all runs have ended', async () => {
    cards = await readRuns(kubeconfig)
    return cards.size === 8 && [...cards.values()].every(isOver)
  })
  const phases = Object.fromEntries([...cards].map(([name, { phase }]) => [name, phase]))
  t.strictSame(phases, {
    'job/plain': 'Succeeded',
    'job/retried': 'Succeeded',
    'job/killed': 'Failed',
    'job/throttled': 'Succeeded',
    'job/brief': 'Succeeded',
    'job/endless': 'Deleted',
    'minicluster/flux': 'Deleted',
    'jobset/train': 'Succeeded',
  })
  await archivedRunsAreWhole(t, cluster, kubeconfig, await briefly)
  await rowsAreStored(t, cluster, kubeconfig)
  const counts = Object.fromEntries([...cards].map(([name, card]) => [name, card.pods]))
  t.strictSame(counts['job/retried'], { observed: 2, expected: 2 })
  t.strictSame(counts['jobset/train'], { observed: 3, expected: 3 })
  failuresAreNamed(t, cards)
  await numbersAreThoseOfTheKernel(t, cluster, cards)
  await adviceIsRefused(t, kubeconfig, cards.get('job/throttled'))
  await adviceIsEnough(t, cluster, kubeconfig)
})

/** Verifies the Runs of the archive, as a user with the role `view` sees them. */
async function archivedRunsAreWhole(
  t: Test,
  cluster: Cluster,
  kubeconfig: string,
  briefly: { readonly cpu: number; readonly memory: number },
): Promise<void> {
  const words = ['get', 'runs', ...HERE]
  const asViewer = { ...cluster, kubeconfig }
  t.comment(await kubectl(asViewer, words))
  const { items } = JSON.parse(await kubectl(asViewer, [...words, '-o', 'json']))
  const runs = new Map<string, Card>(
    items.map((item: Card) => [item.status.summary.run, item.status]),
  )
  const shown = [...runs].map(([name, { phase, pods }]) => [
    name,
    `${phase} ${pods.observed}/${pods.expected}`,
  ])
  t.strictSame(Object.fromEntries(shown), {
    'job/plain': 'Succeeded 1/1',
    'job/retried': 'Succeeded 2/2',
    'job/killed': 'Failed 1/1',
    'job/throttled': 'Succeeded 1/1',
    'job/brief': 'Succeeded 1/1',
    'job/endless': 'Deleted 1/1',
    'minicluster/flux': 'Deleted 2/2',
    'jobset/train': 'Succeeded 3/3',
  })
  const { card } = runs.get('job/brief')
  isNear(t, 'CPU seconds of job/brief', card.roles[0].cpuSeconds, briefly.cpu)
  isNear(t, 'memory peak of job/brief', card.memoryBytes.used, briefly.memory)
  const conditionsOf = (name: string) => runs.get(name).conditions.map(({ type }: Card) => type)
  t.ok(conditionsOf('job/killed').includes('OomKilled'))
  t.ok(conditionsOf('job/retried').includes('ContainerFailed'))
  t.ok(conditionsOf('job/endless').includes('Deleted'))
  const left = await kubectl(cluster, ['get', 'pods', ...HERE, '-o', 'name'])
  t.notMatch(left, /brief|endless|flux/, 'the pods of these runs are gone')
}

function failuresAreNamed(t: Test, cards: ReadonlyMap<string, Card>): void {
  const [killed] = cards.get('job/killed').findings
  t.match(killed, { rule: 'oom-killed', sentence: /app killed: memory ran out \(limit 32 MiB\)$/ })
  const [retried] = cards.get('job/retried').findings
  t.match(retried, {
    rule: 'container-failed',
    podIndex: '1',
    sentence: /exit code 3, and was tried again$/,
  })
}

async function numbersAreThoseOfTheKernel(
  t: Test,
  cluster: Cluster,
  cards: ReadonlyMap<string, Card>,
): Promise<void> {
  for (const [name, selector] of [
    ['job/plain', 'job-name=plain'],
    ['jobset/train', 'jobset.sigs.k8s.io/jobset-name=train'],
  ] as const) {
    const accounts = await accountsOf(cluster, selector)
    const card = cards.get(name)
    const isLate = (sentence: string) => sentence.endsWith('and not at its end')
    t.ok(card.missing.every(isLate), `${name} has all summaries: ${card.missing}`)
    const cpu = add(card.roles.map(({ cpuSeconds }: Card) => cpuSeconds))
    isNear(t, `CPU seconds of ${name}`, cpu, add(accounts.map((one) => one.cpu)))
    const peaks = card.roles.map(({ memoryBytes }: Card) => memoryBytes.used)
    const memory = Math.max(...accounts.map((one) => one.memory))
    isNear(t, `memory peak of ${name}`, Math.max(...peaks), memory)
  }
  t.equal(cards.get('job/plain').cores.requested, 0.5)
  const roles = cards
    .get('jobset/train')
    .roles.map((role: Card) => [role.role, role.cores.requested])
  t.strictSame(
    new Map(roles),
    new Map([
      ['leader', 0.1],
      ['workers', 0.5],
    ]),
  )
}

/** Verifies that the rows of each run are stored, or that its Run says which are missing. */
async function rowsAreStored(t: Test, cluster: Cluster, kubeconfig: string): Promise<void> {
  const asViewer = { ...cluster, kubeconfig }
  let runs: readonly Card[] = []
  await until('all Runs say where their rows are', async () => {
    const { items } = JSON.parse(await kubectl(asViewer, ['get', 'runs', ...HERE, '-o', 'json']))
    runs = items
    // Rows are stored again if the run gets another pod.
    return runs.every(({ status }) => {
      const { logs, missing = [] } = status.rows ?? {}
      return logs !== undefined && (logs.stored === logs.expected || missing.length > 0)
    })
  })
  for (const { spec, status } of runs) {
    t.comment(spec.workload.name, JSON.stringify(status.rows))
    const { path, logs } = status.rows
    t.equal(path !== undefined, logs.stored > 0, `the rows of ${spec.workload.name} have a path`)
  }
}

async function adviceIsRefused(t: Test, kubeconfig: string, throttledCard: Card): Promise<void> {
  const words = [...HERE, '--kubeconfig', kubeconfig, '--advice']
  const killed = await run(['runs', 'job/killed', ...words])
  t.match(killed, {
    code: 1,
    out: /^# container app needs at least .* \(memory peak of its cgroup/m,
  })
  // On a busy machine, the job may get less than its limit.
  const isThrottled = throttledCard.findings.some(({ rule }: Card) => rule === 'throttled')
  const throttled = await run(['runs', 'job/throttled', ...words])
  const refused = {
    code: 1,
    out: /^# no advice: .*(used up its CPU limit .*; it needs more than it used|not at its end)$/m,
  }
  t.match(throttled, isThrottled ? refused : { code: 0 })
}

/** Loads of known use, which request too much memory or too little of a processor. */
const LOADS: readonly (readonly [string, string, object])[] = [
  ['memory', `${work(2, 100)}; sleep 4`, { requests: { cpu: '1', memory: '1Gi' } }],
  ['processor', work(6, 20), { requests: { cpu: '100m' }, limits: { cpu: '2', memory: '1Gi' } }],
]

/** Runs loads, and runs them again with the advice in their manifests. */
async function adviceIsEnough(t: Test, cluster: Cluster, kubeconfig: string): Promise<void> {
  const end = async (name: string, command: string, resources: object): Promise<Card> => {
    const object = job(name, { backoffLimit: 0, template: template(command, resources) })
    await kubectl(cluster, ['create', ...HERE, '-f', '-'], JSON.stringify(object))
    let card: Card
    await until(`${name} has ended`, async () => {
      card = (await readRuns(kubeconfig)).get(`job/${name}`)
      return card !== undefined && isOver(card)
    })
    return card
  }
  // On a busy machine, the container runtime may remove the cgroups of a container before their
  // last reading. There is then no advice.
  const advise = async (
    name: string,
    command: string,
    resources: object,
    tries = 5,
  ): Promise<string> => {
    await end(name, command, resources)
    const words = ['runs', `job/${name}`, ...HERE, '--kubeconfig', kubeconfig, '--advice']
    const { code, out } = await run(words)
    if (code === 0) return out
    t.match(out, /^# no advice: .* and not at its end$/m)
    if (tries === 1) throw new Error(`there is no advice about ${name}`)
    return advise(`${name}-more`, command, resources, tries - 1)
  }
  for (const [name, command, resources] of LOADS) {
    const out = await advise(name, command, resources)
    const [app] = parse(out).spec.template.spec.containers
    const again = await end(`${name}-again`, command, app.resources)
    t.comment(out, JSON.stringify(again))
    t.equal(again.phase, 'Succeeded')
    // On a busy machine, it may wait for a processor.
    const rules = again.findings.map(({ rule }: Card) => rule)
    t.notMatch(rules.join(' '), /throttled|oom-killed|failed/)
    t.ok(again.memoryBytes.used <= again.memoryBytes.requested)
  }
}
