// Records the runs of the tests of `compare`: a small program of MPI with two ranks, under vitals
// and mpi-trace, in a simulated pod. Only the facts that a comparison needs are kept.
//
//   node test/observers/comparison/record.ts 10
//
// adds lines to the files of test/logs/compare, one for each run. The kinds of runs take turns, so
// that the other load of the machine is about the same for each of them. Further arguments choose
// some of the kinds. A run whose calls of MPI were not recorded is left out. A run that does not
// finish has two lines, with and without the calls of MPI. The script needs root, and cgroups of
// version 1.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { measureRun, newComparedRun } from '../../../src/runs/compare/measure-run.ts'
import type { ComparedRun } from '../../../src/runs/compare/run-facts.ts'
import type { EndedContainer } from '../../../src/runs/log/entry.ts'
import { readLog } from '../../../src/runs/log/read.ts'
import { addEntry } from '../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { buildRecorder } from '../../tools/mpi/programs.ts'
import { observer, openFolder, type Running, startPod, until } from '../pod.ts'
import { onPath } from '../prerequisites.ts'
import { makeCgroup } from '../pressure/cgroup.ts'

const SPLIT = fileURLToPath(new URL('split.c', import.meta.url))
const LOGS = fileURLToPath(new URL('../../logs/compare/', import.meta.url))

/** The kinds of runs, and how often each of them runs in a round. */
const KINDS = {
  even: { percent: 50, times: 4 },
  uneven: { percent: 95, times: 1 },
  limited: { percent: 50, times: 1, processors: 0.5 },
  crowded: { percent: 50, times: 1, loads: 4 },
  hang: { percent: 50, times: 1, stop: 'hang' },
  crash: { percent: 50, times: 1, stop: 'crash' },
} as const satisfies Record<string, Kind>

interface Kind {
  /** The part of the work that rank 0 has. */
  readonly percent: number
  readonly times: number
  /** The CPU limit of the container. */
  readonly processors?: number
  /** The processes of another container that use a processor each. */
  readonly loads?: number
  /** What rank 1 does after half of the steps. */
  readonly stop?: 'hang' | 'crash'
}

/** The paths of the program, and of the library that records its calls of MPI. */
interface Programs {
  readonly split: string
  readonly recorder: string
}

const STEPS = 120
/** The seconds after which a run that hangs is killed, as the kubelet does with a deleted pod. */
const HANG_SECONDS = 15
/** The weight of each container, so that other processes of the machine delay it less. */
const SHARES = { 'cpu.shares': '262144' }
const RATE = '0.25'
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: RATE,
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}

/** The logs of the observers of a run, and how its container ended. */
interface ObservedRun {
  readonly logs: readonly string[]
  readonly ended: EndedContainer
}

/** Runs the program once. */
async function observe(kind: Kind, programs: Programs): Promise<ObservedRun> {
  const ends: (() => unknown)[] = []
  const owner = { teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test
  try {
    const enter = enterCgroups(owner, kind.processors)
    const [beside, watched] = [enterCgroups(owner), enterCgroups(owner)]
    const pod = await startPod()
    ends.unshift(pod.end)
    const volume = openFolder('ridealong-volume-')
    ends.unshift(() => rmSync(volume, { recursive: true, force: true }))
    const tool = join(volume, 'tool')
    mkdirSync(tool)
    writeFileSync(join(tool, 'README'), '')
    const folders = { RIDEALONG_TOOL_SOURCE: tool, RIDEALONG_TOOL_VOLUME: volume }
    await (await pod.run('mpi-trace-install', [observer('install')], folders)).ended
    const results = join(volume, 'results')
    const watch = (name: 'vitals' | 'mpi-trace') => {
      const script = [...watched, `exec ${observer(name)}`].join('; ')
      return pod.run(name, ['sh', '-c', script], { ...ENV, RIDEALONG_RESULTS: results })
    }
    const watching = [await watch('vitals'), await watch('mpi-trace')]
    for (const one of watching) await until(one, /waiting for/)
    const loop = [...beside, 'while :; do :; done'].join('; ')
    for (let load = 0; load < (kind.loads ?? 0); load++) await pod.run('load', ['sh', '-c', loop])
    const { percent, stop = '' } = kind
    const command = `exec mpirun.mpich -n 2 ${programs.split} ${STEPS} ${percent} ${stop}`
    const env = { LD_PRELOAD: programs.recorder, RIDEALONG_MPI_TRACE: results }
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const script = [...enter, command].join('; ')
    const app = await pod.run('app', [onPath('env'), ...words, 'sh', '-c', script])
    const ended = await waitForEnd(app, kind)
    for (const one of watching) await one.ended
    return { logs: watching.map((one) => one.log()), ended }
  } finally {
    for (const end of ends) await end()
  }
}

/** Waits for the end of the program, and kills one that hangs. */
async function waitForEnd(app: Running, { stop }: Kind): Promise<EndedContainer> {
  if (stop === 'hang') {
    await sleep(1000 * HANG_SECONDS)
    app.signal('SIGKILL')
  }
  const end = endOf(await app.ended, stop === 'hang')
  if (stop === undefined && end.exitCode !== 0)
    throw new Error(`the program ended with ${end.exitCode}: ${app.log()}`)
  return end
}

/** Returns how a container ended, as the kubelet writes it into the status of the pod. */
function endOf(end: number | string, deleted: boolean): EndedContainer {
  const exitCode = typeof end === 'number' ? end : 128 + constants.signals[end as NodeJS.Signals]
  const finishedAt = `${new Date().toISOString().slice(0, 19)}Z`
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  return { container: 'app', reason, exitCode, signal: null, finishedAt, restarted: false, deleted }
}

/** Makes the cgroups of the container. Returns the commands of the shell that enter them. */
function enterCgroups(owner: Test, processors?: number): readonly string[] {
  const quota = processors === undefined ? {} : { 'cpu.cfs_quota_us': String(1e5 * processors) }
  const made = [makeCgroup(owner, 'cpu', { ...SHARES, ...quota }), makeCgroup(owner, 'cpuacct')]
  return made.map(({ enter }) => enter)
}

/** Leaves out the quantities that are 0, and those that the cgroups of this machine do not have. */
function factsOf({ logs, ended }: ObservedRun, name: string): ComparedRun {
  const run = newComparedRun(BUILT_IN_ROWS)
  for (const [index, log] of logs.entries())
    for (const entry of readLog(
      log,
      { source: `hpc/split-0/${index}`, pod: 'split-0', pod_index: '0', ended: [ended] },
      BUILT_IN_ROWS,
    ))
      addEntry(run, entry)
  const facts = measureRun(run, name)
  const quantities = facts.quantities.filter(({ value, of }) => {
    return value !== 0 && (value !== null || of !== 'container')
  })
  return { ...facts, quantities }
}

async function record(name: string, kind: Kind, programs: Programs): Promise<void> {
  const observed = await observe(kind, programs)
  const facts = factsOf(observed, name)
  if (facts.calls === null) {
    process.stdout.write(`${name}: the calls of MPI were not recorded\n`)
    return
  }
  const alone = factsOf({ ...observed, logs: observed.logs.slice(0, 1) }, `${name}, vitals alone`)
  for (const one of kind.stop === undefined ? [facts] : [facts, alone])
    appendFileSync(join(LOGS, `${name}.jsonl`), `${JSON.stringify(one)}\n`)
  const [time] = facts.quantities
  const findings = facts.findings.map(({ rule, secondsLost }) => `${rule} ${secondsLost}`)
  const missing = facts.quantities.flatMap((one) => one.missing ?? [])
  process.stdout.write(`${name}: ${time?.value} s; ${[...findings, ...missing].join(', ')}\n`)
}

const folder = openFolder('ridealong-split-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const programs = { split: join(folder, 'split'), recorder: join(folder, 'libridealong-mpi.so') }
execFileSync('mpicc.mpich', ['-O1', SPLIT, '-o', programs.split])
buildRecorder(programs.recorder)
mkdirSync(LOGS, { recursive: true })
const [, , rounds = '1', ...chosen] = process.argv
for (let round = 1; round <= Number(rounds); round++)
  for (const [name, kind] of Object.entries(KINDS))
    for (let time = 0; time < kind.times; time++)
      if (chosen.length === 0 || chosen.includes(name)) await record(name, kind, programs)
