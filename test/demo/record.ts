// Records the runs of the demo, in a simulated pod with vitals and mpi-trace:
//
//   node test/demo/record.ts
//
// records both, and with the name of a run only this one:
//
// - recordings/lammps: LAMMPS with two ranks of MPI, of which one has twice the work of the other
// - recordings/hang: mode `sleep` of test/tools/mpi/programs/stuck.c with four ranks, of which one
//   does not come to MPI_Allreduce
//
// The script needs root, cgroups of version 1, LAMMPS, and what the tests of mpi-trace need.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { observer, openFolder, type Pod, type Running, startPod, until } from '../observers/pod.ts'
import { onPath } from '../observers/prerequisites.ts'
import { makeCgroup } from '../observers/pressure/cgroup.ts'
import { MPI_ENV, mpirun, programsFor } from '../tools/mpi/programs.ts'

const RECORDINGS = fileURLToPath(new URL('recordings/', import.meta.url))
const INPUT = fileURLToPath(new URL('uneven.lj', import.meta.url))
const METRICS = ['vitals', 'mpi-trace'] as const

/** A run of the demo. */
interface DemoRun {
  readonly name: string
  readonly argv: readonly string[]
  /** The seconds after which a run that does not end is ended. */
  readonly seconds?: number
}

/** The weight of the container, so that other processes of the machine delay it less. */
const SHARES = { 'cpu.shares': '262144' }

async function record(run: DemoRun): Promise<void> {
  const ends: (() => unknown)[] = []
  const owner = { teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test
  try {
    const cgroups = [makeCgroup(owner, 'cpu', SHARES), makeCgroup(owner, 'cpuacct')]
    const enter = cgroups.map((one) => one.enter)
    const pod = await startPod()
    ends.unshift(pod.end)
    const volume = openFolder('ridealong-volume-')
    ends.unshift(() => rmSync(volume, { recursive: true, force: true }))
    const results = await installTool(pod, volume)
    const observers = await startObservers(pod, { name: run.name, results, enter })
    const app = await startApp(pod, run, { results, enter })
    if (run.seconds === undefined) await app.ended
    else await endAfter(run.seconds, observers)
    for (const one of observers) await one.ended
    writeLogs(run.name, observers)
  } finally {
    for (const end of ends) await end()
  }
}

async function endAfter(seconds: number, observers: readonly Running[]): Promise<void> {
  await sleep(1000 * seconds)
  for (const one of observers) one.signal('SIGTERM')
}

/** Writes the logs of the observers, which are in the order of `METRICS`. */
function writeLogs(name: string, observers: readonly Running[]): void {
  const folder = join(RECORDINGS, name)
  mkdirSync(folder, { recursive: true })
  for (const [index, one] of observers.entries()) {
    const file = join(folder, `${name}-0.${METRICS[index]}.log.gz`)
    writeFileSync(file, gzipSync(one.log(), { level: 9 }))
  }
}

/** Prepares the volume of the tool, and returns its folder for results. */
async function installTool(pod: Pod, volume: string): Promise<string> {
  const tool = join(volume, 'tool')
  mkdirSync(tool)
  writeFileSync(join(tool, 'README'), '')
  const folders = { RIDEALONG_TOOL_SOURCE: tool, RIDEALONG_TOOL_VOLUME: volume }
  await (await pod.run('mpi-trace-install', [observer('install')], folders)).ended
  return join(volume, 'results')
}

interface Place {
  readonly results: string
  /** The commands of the shell that enter the cgroups of the pod. */
  readonly enter: readonly string[]
}

async function startObservers(
  pod: Pod,
  { name, results, enter }: Place & Pick<DemoRun, 'name'>,
): Promise<readonly Running[]> {
  const env = {
    RIDEALONG_TARGET_CONTAINER: 'app',
    RIDEALONG_OPTION_RATE: '2',
    RIDEALONG_MODE: 'container',
    RIDEALONG_RESTART_POLICY: 'Never',
    RIDEALONG_RESULTS: results,
    RIDEALONG_OWNER: `Job/${name}`,
    POD_NAME: `${name}-0`,
    POD_NAMESPACE: 'demo',
    JOB_COMPLETION_INDEX: '0',
  }
  const observers: Running[] = []
  for (const metric of METRICS) {
    const script = [...enter, `exec ${observer(metric)}`].join('; ')
    const watching = await pod.run(metric, ['sh', '-c', script], env)
    await until(watching, /waiting for/)
    observers.push(watching)
  }
  return observers
}

function startApp(pod: Pod, { argv }: DemoRun, { results, enter }: Place): Promise<Running> {
  const { recorder } = programsFor('openmpi')
  const tool = [`LD_PRELOAD=${recorder}`, `RIDEALONG_MPI_TRACE=${results}`]
  const script = [...enter, 'exec "$0" "$@"'].join('; ')
  return pod.run('app', [onPath('env'), ...tool, 'sh', '-c', script, ...argv], MPI_ENV)
}

const { stuck } = programsFor('openmpi')
const lammps = ['lmp', '-in', INPUT, '-log', 'none', '-screen', 'none']
const RUNS: readonly DemoRun[] = [
  { name: 'lammps', argv: [...mpirun('openmpi', 2), ...lammps] },
  { name: 'hang', argv: [...mpirun('openmpi', 4), stuck, 'sleep'], seconds: 40 },
]
const chosen = process.argv.slice(2)
for (const run of RUNS) if (chosen.length === 0 || chosen.includes(run.name)) await record(run)
