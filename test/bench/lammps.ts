import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from '../../src/lib/statistics.ts'
import { observer, openFolder, type Running, startPod } from '../observers/pod.ts'
import { onPath, timepointsIn } from '../observers/prerequisites.ts'
import { until } from '../until.ts'

const INPUT = fileURLToPath(new URL('in.turns', import.meta.url))
const MELT = fileURLToPath(new URL('../cluster/applications/lammps/in.lj', import.meta.url))
const PAIRS = Number(process.env.PAIRS ?? 20)
const RANKS = availableParallelism()
/**
 * The number of steps in a run. They take a few seconds, so that each run with the observer
 * includes at least one timepoint.
 */
const STEPS = Number(process.env.STEPS ?? 400)
const WARM_UP_STEPS = 500

/**
 * For each run of a pair, whether the observer is active. In this order (the Thue-Morse sequence),
 * a gradual change in the speed of the machine affects both halves equally.
 */
const TURNS = [false, true, true, false, true, false, false, true]

/** mpirun runs as root only with these variables. */
const ENV = {
  HOME: '/tmp',
  OMP_NUM_THREADS: '1',
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
}
/** The ranks of a pod may not read each other's memory, so the single copy mechanism is off. */
const MPIRUN = ['mpirun', '--oversubscribe', '--mca', 'btl_vader_single_copy_mechanism', 'none']
const LAMMPS = ['lmp', '-in', INPUT, '-log', 'none', '-var', 'melt', MELT]

/**
 * The log of the observer goes to a file: if this program read the log, it would take a processor
 * from a rank for each timepoint.
 */
const TO_FILE = ['sh', '-c', 'exec "$1" >"$0"']
/** How long this program sleeps between two looks at the output of LAMMPS, in milliseconds. */
const PAUSE_MS = 2000

/**
 * Measures how much an observer with one timepoint per second lengthens the loop of LAMMPS, and
 * prints the result. One process of LAMMPS repeats the loop, and the observer is stopped with
 * SIGSTOP in half of the runs. Two processes of LAMMPS would differ by more than this effect,
 * because their memory and ranks are placed differently. A pair consists of four runs with the
 * observer and four without.
 */
export async function benchLammps(print: (line: string) => void): Promise<void> {
  const missing = ['mpirun', 'lmp', 'pkill'].filter((program) => onPath(program) === program)
  if (missing.length > 0) {
    print(`not installed: ${missing.join(', ')}; apt-get install openmpi-bin lammps procps`)
    return
  }
  print(`LAMMPS on ${RANKS} ranks, ${STEPS} steps a run, loop time without and with the observer:`)
  const [load = 0] = loadavg()
  if (load > 1)
    print(`  other programs use this machine (load ${load.toFixed(1)}) and affect the result`)
  const pod = await startPod()
  const folder = openFolder('ridealong-bench-')
  const log = join(folder, 'log')
  const text = () => readFileSync(log, 'utf8')
  writeFileSync(log, '')
  try {
    await pod.run('perf-sysstat', [...TO_FILE, log, observer('perf-sysstat')], {
      RIDEALONG_TARGET_CONTAINER: 'app',
      RIDEALONG_OPTION_RATE: '1',
      RIDEALONG_OPTION_MAX_LOG: '1024',
    })
    await until('the observer waits for LAMMPS', () => /waiting for/.test(text()))
    const signals = Array.from({ length: PAIRS }, () => TURNS.map((on) => (on ? 'CONT' : 'STOP')))
    const steps = ['-var', 'steps', `${WARM_UP_STEPS}`, '-var', 'block', `${STEPS}`]
    const turns = ['-var', 'turn', ...signals.flat()]
    const argv = [...MPIRUN, '-np', `${RANKS}`, ...LAMMPS, ...steps, ...turns]
    const ratios = await pairsOf(await pod.run('app', argv, ENV), print)
    const middle = median(ratios) ?? Number.NaN
    print(`median difference ${((middle - 1) * 100).toFixed(2)} %, ratio ${middle.toFixed(4)}`)
    print(`  ${timepointsIn(text())} timepoints were taken`)
  } finally {
    pod.end()
    rmSync(folder, { recursive: true })
  }
}

/** Returns the ratios of the pairs, and prints each ratio as soon as its pair has ended. */
async function pairsOf(app: Running, print: (line: string) => void): Promise<readonly number[]> {
  const ratios: number[] = []
  let isOver = false
  app.ended.then(() => {
    isOver = true
  })
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const end = (pair + 1) * TURNS.length
    const hasEnded = () => isOver || loopTimes(app.log()).length >= end
    await until('LAMMPS ends its runs', hasEnded, { pauseMs: PAUSE_MS })
    const times = loopTimes(app.log()).slice(end - TURNS.length, end)
    if (times.length < TURNS.length) throw new Error(`LAMMPS ended too early:\n${app.log()}`)
    const observed = sumOf(times.filter((_, at) => TURNS[at]))
    const without = sumOf(times.filter((_, at) => !TURNS[at]))
    const ratio = observed / without
    ratios.push(ratio)
    print(`  ${without.toFixed(2)} s, ${observed.toFixed(2)} s, ratio ${ratio.toFixed(4)}`)
  }
  return ratios
}

/** Returns the loop time that LAMMPS printed for each run, in seconds, without the warm-up. */
function loopTimes(log: string): readonly number[] {
  return [...log.matchAll(/Loop time of ([\d.]+)/g)].slice(1).map(([, seconds]) => Number(seconds))
}

function sumOf(seconds: readonly number[]): number {
  return seconds.reduce((sum, one) => sum + one, 0)
}
