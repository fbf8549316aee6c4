// Records the runs of test/logs/verdict: steps.c in simulated pods, with vitals and mpi-trace.
//
//   node test/observers/truth/record-steps.ts [CASE]...
//
// writes POD.METRIC.log for each observer of a case, as `collect --output logs` names them;
// ended.json, with how the containers ended; and output.txt, what the program printed. The script
// needs root, MPICH, Open MPI, and cgroups of version 1 for processor time. The containers of a
// case have a greater weight than the other load of the machine, except for the case `neighbor`.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { buildRecorder } from '../../tools/mpi/programs.ts'
import { until as untilTrue } from '../../until.ts'
import { observer, openFolder, type Pod, type Running, startPod, until } from '../pod.ts'
import { onPath } from '../prerequisites.ts'
import { makeCgroup } from '../pressure/cgroup.ts'

const STEPS = fileURLToPath(new URL('steps.c', import.meta.url))
const LOGS = fileURLToPath(new URL('../../logs/verdict/', import.meta.url))
const METRICS = ['vitals', 'mpi-trace'] as const

/** How a run is recorded. */
interface Case {
  /** The kind of steps.c. */
  readonly kind: string
  readonly library?: 'openmpi' | 'mpich'
  readonly processes?: number
  readonly seconds?: number
  /** The number of pods. With several pods, each has the same number of processes, of MPICH. */
  readonly pods?: number
  /** The number of the pods that are observed. */
  readonly observed?: number
  /** The CPU limit of the container. */
  readonly limit?: number
  /** The number of busy processes of another pod. */
  readonly loads?: number
  /** The name for the logs as they are at half time, if they are recorded too. */
  readonly halfway?: string
  /** The seconds after which the program is ended with SIGTERM. */
  readonly endedAfter?: number
  /** The pod of which all processes are killed at half time. */
  readonly killed?: number
  /** Whether the kernel counts the time of waiting for storage. */
  readonly hasDelays?: boolean
}

const CASES: Readonly<Record<string, Case>> = {
  healthy: { kind: 'even', halfway: 'cut' },
  hang: { kind: 'hang', seconds: 12, endedAfter: 30, halfway: 'hanging' },
  crash: { kind: 'crash' },
  'crash-at-start': { kind: 'start' },
  killed: { kind: 'even', library: 'mpich', pods: 2, killed: 1 },
  sampled: { kind: 'even', library: 'mpich', pods: 2, observed: 1 },
  sleeping: { kind: 'sleep' },
  oversubscribed: { kind: 'even', processes: 4 },
  neighbor: { kind: 'even', loads: 4 },
  throttled: { kind: 'even', limit: 1 },
  storage: { kind: 'read', hasDelays: true },
}

const SECONDS = 24
const RATE = '3'
const PATIENT = { patienceMs: 60_000, pauseMs: 100 }
const DELAYS = '/proc/sys/kernel/task_delayacct'
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: RATE,
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
  POD_NAMESPACE: 'hpc',
  NODE_NAME: 'node-1',
}
const MPI_ENV = {
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  OMPI_MCA_rmaps_base_oversubscribe: '1',
  OMPI_MCA_hwloc_base_binding_policy: 'none',
  MPIR_CVAR_NOLOCAL: '1',
  UCX_TLS: 'tcp,self',
}

interface WatchedPod {
  readonly name: string
  readonly pod: Pod
  readonly observers: ReadonlyMap<string, Running>
  start(command: string): Promise<Running>
}

const folder = openFolder('ridealong-verdict-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const recorder = join(folder, 'libridealong-mpi.so')

/** Starts a pod with its observers. @param owner ends it */
async function watchPod(owner: Test, name: string, index: number, one: Case): Promise<WatchedPod> {
  const { observed = Number.POSITIVE_INFINITY, limit, loads } = one
  const weight = { 'cpu.shares': loads === undefined ? '262144' : '1024' }
  const quota = limit === undefined ? {} : { 'cpu.cfs_quota_us': String(1e5 * limit) }
  const own = [makeCgroup(owner, 'cpu', { ...weight, ...quota }), makeCgroup(owner, 'cpuacct')]
  const enter = own.map((cgroup) => `${cgroup.enter}; `).join('')
  const ofObservers = makeCgroup(owner, 'cpu', { 'cpu.shares': '262144' })
  const pod = await startPod()
  owner.teardown(pod.end)
  const volume = openFolder('ridealong-volume-')
  owner.teardown(() => rmSync(volume, { recursive: true, force: true, maxRetries: 20 }))
  const tool = join(volume, 'tool')
  mkdirSync(tool)
  writeFileSync(join(tool, 'README'), '')
  const folders = { RIDEALONG_TOOL_SOURCE: tool, RIDEALONG_TOOL_VOLUME: volume }
  await (await pod.run('mpi-trace-install', [observer('install')], folders)).ended
  const results = join(volume, 'results')
  const env = {
    ...ENV,
    RIDEALONG_RESULTS: results,
    POD_NAME: name,
    JOB_COMPLETION_INDEX: String(index),
  }
  const watched = index < observed ? METRICS : []
  const observers = new Map<string, Running>()
  for (const metric of watched) {
    const script = `${ofObservers.enter}; exec ${observer(metric)}`
    observers.set(metric, await pod.run(metric, ['sh', '-c', script], env))
  }
  for (const running of observers.values()) await until(running, /waiting for/)
  const variables = { ...MPI_ENV, LD_PRELOAD: recorder, RIDEALONG_MPI_TRACE: results }
  const words = Object.entries(variables).map(([key, value]) => `${key}=${value}`)
  const start = (command: string) =>
    pod.run('app', [onPath('env'), ...words, 'sh', '-c', `${enter}exec ${command}`])
  return { name, pod, observers, start }
}

/** Starts the program in all pods. */
async function startProgram(
  owner: Test,
  one: Case,
  pods: readonly WatchedPod[],
): Promise<readonly Running[]> {
  const { kind, library = 'openmpi', processes = 2, seconds = SECONDS } = one
  const program = join(folder, `steps.${library}`)
  const words = `${program} ${kind} ${seconds}${kind === 'read' ? ` ${fileToRead(owner)}` : ''}`
  const [first] = pods
  if (first !== undefined && pods.length === 1)
    return [await first.start(`mpirun.${library} -n ${processes} ${words}`)]
  const hosts = pods.map(({ name }) => name).join(',')
  const each = processes / pods.length
  const flags = ['-launcher', 'manual', '-hosts', hosts, '-ppn', String(each), '-n', `${processes}`]
  const env = { ...process.env, ...MPI_ENV }
  const launcher = spawn('mpiexec.mpich', [...flags, ...words.split(' ')], { env })
  owner.teardown(() => launcher.kill('SIGKILL'))
  let text = ''
  launcher.stdout.on('data', (part) => {
    text += part
    printed = text.replace(/^HYDRA.*\n/gm, '')
  })
  await untilTrue('the launcher has begun', () => text.includes('HYDRA_LAUNCH_END'), PATIENT)
  const proxies = [...text.matchAll(/^HYDRA_LAUNCH: (.*)$/gm)].map(([, command = '']) => command)
  return Promise.all(pods.map((pod, index) => pod.start(proxies[index] ?? 'false')))
}

/** What a launcher outside of the pods has printed. */
let printed = ''

function fileToRead(owner: Test): string {
  const path = `/var/tmp/ridealong-read-${process.pid}`
  owner.teardown(() => rmSync(path, { force: true }))
  execFileSync('dd', ['if=/dev/urandom', `of=${path}`, 'bs=1M', 'count=512', 'conv=fsync'], {
    stdio: 'ignore',
  })
  return path
}

async function record(name: string, one: Case): Promise<void> {
  const ends: (() => unknown)[] = []
  const owner = { teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test
  const before = readFileSync(DELAYS, 'utf8')
  if (one.hasDelays) writeFileSync(DELAYS, '1')
  printed = ''
  try {
    const pods: WatchedPod[] = []
    for (let index = 0; index < (one.pods ?? 1); index++)
      pods.push(await watchPod(owner, `${name}-${index}`, index, one))
    await startLoads(owner, one)
    const apps = await startProgram(owner, one, pods)
    const ended = new Map<string, unknown>()
    const finished = apps.map((app, index) =>
      app.ended.then((end) => ended.set(pods[index]?.name ?? '', [endOf(end)])),
    )
    await interfere(one, pods, apps)
    await Promise.all(finished)
    for (const { observers } of pods) for (const running of observers.values()) await running.ended
    write(name, pods, ended)
    const output = [...apps.map((app) => app.log()), printed].join('')
    writeFileSync(join(LOGS, name, 'output.txt'), output)
  } finally {
    writeFileSync(DELAYS, before)
    for (const end of ends) await end()
  }
}

/** Does what a case says about the time until its program ends. */
async function interfere(
  { seconds = SECONDS, endedAfter, halfway, killed }: Case,
  pods: readonly WatchedPod[],
  apps: readonly Running[],
): Promise<void> {
  await sleep(endedAfter === undefined ? 500 * seconds : 1000 * endedAfter - LAST_MS)
  if (halfway !== undefined) write(halfway, pods, new Map())
  const lost = killed === undefined ? undefined : pods[killed]
  if (lost !== undefined) process.kill(lost.pod.pid, 'SIGKILL')
  if (endedAfter === undefined) return
  await sleep(LAST_MS)
  for (const app of apps) app.signal('SIGTERM')
}

/** The time between the logs at half time of a program that is ended, and its end. */
const LAST_MS = 6000

/** Starts busy processes in another pod. */
async function startLoads(owner: Test, { loads = 0 }: Case): Promise<void> {
  if (loads === 0) return
  const pod = await startPod()
  owner.teardown(pod.end)
  for (let load = 0; load < loads; load++)
    await pod.run('load', ['sh', '-c', 'while :; do :; done'])
}

const SIGNALS: Readonly<Record<string, number>> = { SIGKILL: 137, SIGSEGV: 139, SIGTERM: 143 }

/** Describes the end of a container as `collect` reads it from the status of a pod. */
function endOf(end: number | string) {
  const exitCode = typeof end === 'number' ? end : (SIGNALS[end] ?? 1)
  const finishedAt = `${new Date().toISOString().slice(0, 19)}Z`
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  const facts = { restarted: false, deleted: false }
  return { container: 'app', reason, exitCode, signal: null, finishedAt, ...facts }
}

function write(name: string, pods: readonly WatchedPod[], ended: ReadonlyMap<string, unknown>) {
  const path = join(LOGS, name)
  mkdirSync(path, { recursive: true })
  for (const { name: pod, observers } of pods)
    for (const [metric, { log }] of observers)
      writeFileSync(join(path, `${pod}.${metric}.log`), log())
  const text = JSON.stringify(Object.fromEntries(ended), null, 2)
  writeFileSync(join(path, 'ended.json'), `${text}\n`)
}

for (const library of ['openmpi', 'mpich'])
  execFileSync(`mpicc.${library}`, ['-O1', '-Wall', STEPS, '-o', join(folder, `steps.${library}`)])
buildRecorder(recorder)
const chosen = process.argv.slice(2)
for (const [name, one] of Object.entries(CASES)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  process.stdout.write(`${name}: ${readFileSync('/proc/loadavg', 'utf8')}`)
  await record(name, one)
}
