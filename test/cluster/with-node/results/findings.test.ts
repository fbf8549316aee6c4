import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { FindingsDocument } from '../../../../src/runs/report/document/findings-document.ts'
import { run } from '../../../cli/command.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { APPLICATIONS, DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { HOST_ADDRESS } from '../../machine/node.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { startWebhook } from '../../webhook.ts'

// Runs Jobs on a real node whose pods are slow for different reasons. The report must have the
// finding with the reason of each slow pod, whichever metrics observe the pods: `vitals`, the
// three metrics that it replaces, or all of them.

const SPACE = 'findings'
/** The default metric, and the metrics whose numbers it has. */
const DEFAULT = 'vitals'
const REPLACED = ['perf-sysstat', 'pressure', 'network']
const METRICS = [DEFAULT, ...REPLACED]
/** How long each pod works, in seconds. */
const SECONDS = 20

/**
 * Returns a command that runs for SECONDS. In a loop, it uses some milliseconds of processor time,
 * and then sleeps for the rest of 100 ms. The Perl statement `before` runs first.
 */
const work = (milliseconds: number, before = '') =>
  `perl -e 'sub used { my @times = times; $times[0] + $times[1] } ${before} ` +
  `$end = time + ${SECONDS}; while (time < $end) { ` +
  `$next = used() + ${milliseconds / 1000}; while (used() < $next) {} ` +
  `select(undef, undef, undef, ${(100 - milliseconds) / 1000}) }'`
const spin = `timeout ${SECONDS} perl -e 'while (1) {}'`

const HEALTHY = work(30)

/** Sends as fast as the receiver allows. */
const sendTo = (port: number) =>
  `perl -MIO::Socket::INET -e '$to = IO::Socket::INET->new("${HOST_ADDRESS}:${port}") or die $@; ` +
  `$end = time + ${SECONDS}; while (time < $end) { syswrite $to, "x" x 65536 }'`

/** Starts a server that receives slowly, and returns its port. The server stops with the test. */
async function startSlowReceiver(t: Test): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    // The sender can reset the connection, because it does not wait for its data to be received.
    receiveSlowly(socket).catch(() => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

/** Reads at most 64 KiB every 20 ms. */
async function receiveSlowly(socket: Socket): Promise<void> {
  for await (const _ of socket) await sleep(20)
}

interface LoadedPod {
  readonly load: string
  readonly finding?: string
}

/**
 * The load of each pod by completion index, and the finding that the report must have.
 *
 * @param port the port of a slow receiver on the node
 */
const loadedPods = (port: number): readonly LoadedPod[] => [
  { load: HEALTHY },
  { load: `${spin} & ${spin} & wait`, finding: 'throttled' },
  {
    load: `taskset -c 1 ${spin} & taskset -c 1 ${spin} & wait`,
    finding: 'pinned-to-same-core',
  },
  {
    load: work(30, 'open Z, "/dev/zero"; sysread Z, $data, 118 << 20;'),
    finding: 'close-to-memory-limit',
  },
  {
    load:
      'dd if=/dev/zero of=/var/tmp/data bs=1M count=256 conv=fsync && timeout ' +
      `${SECONDS} sh -c 'while :; do dd if=/var/tmp/data of=/dev/null bs=4k iflag=direct; done'`,
    finding: 'waiting-for-storage',
  },
  { load: work(90), finding: 'more-work' },
  { load: sendTo(port), finding: 'network-bound' },
  { load: HEALTHY },
  { load: HEALTHY },
  { load: HEALTHY },
]

interface Shape {
  readonly name: string
  readonly image?: string
  /** The command of each pod. */
  readonly loads: readonly string[]
  readonly limits: Readonly<Record<string, string>>
  readonly securityContext?: object
}

/**
 * Returns a Job whose pods run one after another, so that they do not compete for processors. All
 * pods have the same limits.
 */
function job({ name, image = DEBIAN_IMAGE, loads, limits, securityContext = {} }: Shape) {
  const cases = loads.map((load, index) => `${index}) ${load};;`).join('\n')
  const command = ['sh', '-c', `case $JOB_COMPLETION_INDEX in\n${cases}\nesac; true`]
  const annotations = {
    'ridealong.dev/inject': METRICS.join(','),
    ...Object.fromEntries(METRICS.map((metric) => [`${metric}.ridealong.dev/rate`, '1'])),
  }
  const requests = { cpu: '500m', memory: '64Mi' }
  const container = { name: 'app', image, command, resources: { limits, requests } }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      completions: loads.length,
      parallelism: 1,
      completionMode: 'Indexed',
      backoffLimit: 0,
      template: {
        metadata: { annotations },
        spec: { containers: [container], securityContext, restartPolicy: 'Never' },
      },
    },
  }
}

/** The sets of metrics of which reports are made, by name. */
const SETS = { vitals: [DEFAULT], three: REPLACED, all: METRICS } as const
type Reports = Readonly<Record<keyof typeof SETS, FindingsDocument>>

/** Runs a Job until it completes, and makes a report of the rows of each set of metrics. */
async function reportsOf(t: Test, cluster: Cluster, shape: Shape): Promise<Reports> {
  const here = ['-n', SPACE]
  await kubectl(cluster, ['apply', ...here, '-f', '-'], JSON.stringify(job(shape)))
  const patience = `--timeout=${shape.loads.length * (SECONDS + 60)}s`
  const waiting = ['wait', '--for=condition=Complete', `job/${shape.name}`, ...here, patience]
  await kubectl(cluster, waiting)
  const rows = join(t.testdir({}), 'rows.jsonl')
  const from = [...here, '--kubeconfig', cluster.kubeconfig]
  const collected = await run(['collect', `job/${shape.name}`, ...from, '--to', rows])
  t.equal(collected.code, 0, collected.err)
  return {
    vitals: await reportOf(t, rows, 'vitals'),
    three: await reportOf(t, rows, 'three'),
    all: await reportOf(t, rows, 'all'),
  }
}

/** Makes the report of those collected rows that are of a set of metrics. */
async function reportOf(
  t: Test,
  collected: string,
  set: keyof typeof SETS,
): Promise<FindingsDocument> {
  const metrics: readonly string[] = SETS[set]
  const lines = readFileSync(collected, 'utf8').trimEnd().split('\n')
  const chosen = lines.filter((line) => metrics.includes(JSON.parse(line).metric))
  const [rows, file] = [`${collected}.${set}`, `${collected}.${set}.json`]
  writeFileSync(rows, `${chosen.join('\n')}\n`)
  const { code, err } = await run(['report', rows, '-o', 'json', '--to', file])
  t.equal(code, 0, err)
  return JSON.parse(readFileSync(file, 'utf8'))
}

const inShort = ({ findings }: FindingsDocument) =>
  findings.map(({ rule, pods }) => `${rule} ${pods.map(({ podIndex }) => podIndex).join(', ')}`)

const DELAY_ACCOUNTING = '/proc/sys/kernel/task_delayacct'
/** The CPU weight of all pods together, if the node has cgroups of version 1. */
const SHARES = '/sys/fs/cgroup/cpu/kubepods/cpu.shares'

/** Changes a setting of this machine until the test ends. Does nothing if it has no such file. */
function set(t: Test, file: string, value: string): void {
  if (!existsSync(file)) return
  const before = readFileSync(file, 'utf8')
  t.teardown(() => writeFileSync(file, before))
  writeFileSync(file, value)
}

t.test('the report has the finding for each slow pod', async (t) => {
  const setting = await startObserving(t)

  await t.test('each slow pod of a Job has its finding', (t) => slowPodsHaveFindings(t, setting))

  await t.test('a Job of healthy pods has no findings', (t) => healthyPodsHaveNone(t, setting))

  await t.test('LAMMPS with two ranks and a limit of one CPU is throttled', (t) =>
    lammpsIsThrottled(t, setting),
  )
})

async function startObserving(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  set(t, DELAY_ACCOUNTING, '1')
  return { cluster }
}

type Setting = Awaited<ReturnType<typeof startObserving>>

async function slowPodsHaveFindings(t: Test, { cluster }: Setting): Promise<void> {
  // A large weight protects the pods from other programs on this machine.
  set(t, SHARES, '200000')
  const pods = loadedPods(await startSlowReceiver(t))
  const loads = pods.map(({ load }) => load)
  const limits = { cpu: '1100m', memory: '128Mi' }
  const reports = await reportsOf(t, cluster, { name: 'ranks', loads, limits })
  const expected = pods.flatMap(({ finding }, index) =>
    finding === undefined ? [] : [`${finding} ${index}`],
  )
  for (const [metrics, found] of Object.entries(reports)) {
    const { findings } = found
    t.strictSame([...inShort(found)].sort(), [...expected].sort(), metrics, { findings })
    t.strictSame(
      found.pods.map(({ podIndex }) => podIndex),
      pods.map((_, index) => `${index}`),
      metrics,
    )
  }
}

async function healthyPodsHaveNone(t: Test, { cluster }: Setting): Promise<void> {
  set(t, SHARES, '200000')
  const loads = [HEALTHY, HEALTHY, HEALTHY]
  const limits = { cpu: '1100m', memory: '128Mi' }
  const reports = await reportsOf(t, cluster, { name: 'healthy', loads, limits })
  const checked = ['throttled', 'more-work', 'network-bound']
  for (const [metrics, { findings, notChecked }] of Object.entries(reports)) {
    t.strictSame(findings, [], metrics)
    t.strictSame(
      notChecked.filter(({ rule }) => checked.includes(rule)),
      [],
      metrics,
    )
  }
}

async function lammpsIsThrottled(t: Test, { cluster }: Setting): Promise<void> {
  set(t, SHARES, '200000')
  const mpirun = 'mpirun --oversubscribe --bind-to none --mca orte_tmpdir_base /tmp'
  const memory = '--mca btl_vader_single_copy_mechanism none'
  const lammps = `lmp -in in.lj -log none -var steps 1000000 -var seconds ${SECONDS}`
  const load = `export HOME=/tmp OMP_NUM_THREADS=1; ${mpirun} ${memory} -np 2 ${lammps}; sleep 2`
  const reports = await reportsOf(t, cluster, {
    name: 'lammps',
    image: APPLICATIONS.lammps,
    loads: [load],
    limits: { cpu: '1', memory: '1Gi' },
    securityContext: { runAsUser: 1000, runAsGroup: 1000 },
  })
  for (const [metrics, found] of Object.entries(reports)) {
    t.strictSame(inShort(found), ['throttled 0'], metrics)
    const facts = found.findings[0]?.pods[0]?.facts ?? []
    const share = facts.find(({ name }) => name === 'time throttled')?.value ?? 0
    // The two processes could use two processors, but the limit is one.
    t.ok(share > 30 && share < 60, `${metrics}: throttled for ${share} % of the time`)
    t.match(
      found.findings[0]?.sentence,
      /^Pod 0 was throttled for \d+(\.\d+)? % of the time/,
      metrics,
    )
  }
}
