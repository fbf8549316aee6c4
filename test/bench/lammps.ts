import { availableParallelism, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { observer, type Pod, startPod, until } from '../observers/pod.ts'
import { onPath, timepointsIn } from '../observers/prerequisites.ts'

const INPUT = fileURLToPath(new URL('../cluster/lammps/in.lj', import.meta.url))
const PAIRS = 5
const RANKS = availableParallelism()
const STEPS = Number(process.env.STEPS ?? 3000)

/** mpirun refuses root that does not insist; ranks of a pod may not read each other's memory. */
const ENV = {
  HOME: '/tmp',
  OMP_NUM_THREADS: '1',
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
}
const MPIRUN = ['mpirun', '--oversubscribe', '--mca', 'btl_vader_single_copy_mechanism', 'none']
const LAMMPS = ['lmp', '-in', INPUT, '-log', 'none', '-var', 'steps', `${STEPS}`]

/**
 * Prints by how much an observer that takes a timepoint a second lengthens LAMMPS's own loop: runs with
 * and without it, in pairs, whose order alternates. Ranks wait for one another, so that whoever else is on
 * the machine counts many times.
 */
export async function benchLammps(print: (line: string) => void): Promise<void> {
  const missing = ['mpirun', 'lmp'].filter((program) => onPath(program) === program)
  if (missing.length > 0) {
    print(`LAMMPS is not here (${missing.join(', ')}): apt-get install openmpi-bin lammps`)
    return
  }
  print(`LAMMPS on ${RANKS} ranks, ${STEPS} steps, loop time without and with the observer:`)
  const [load = 0] = loadavg()
  if (load > 1)
    print(`  others use this machine (load ${load.toFixed(1)}): it is they who are measured`)
  const ratios: number[] = []
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const isFirst = pair % 2 === 1
    const one = await loopTime(isFirst)
    const other = await loopTime(!isFirst)
    const [without, observed] = isFirst ? [other, one] : [one, other]
    ratios.push(observed / without)
    print(`  ${without.toFixed(2)} s, ${observed.toFixed(2)} s, ratio ${ratioOf(ratios.at(-1))}`)
  }
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(PAIRS / 2)] ?? 1
  print(`median difference ${((median - 1) * 100).toFixed(2)} %, ratio ${ratioOf(median)}`)
}

/** Seconds of LAMMPS's own loop in a pod of its own. */
async function loopTime(isObserved: boolean): Promise<number> {
  const pod = await startPod()
  try {
    const watching = isObserved ? await watch(pod) : undefined
    const app = await pod.run('app', [...MPIRUN, '-np', `${RANKS}`, ...LAMMPS], ENV)
    await app.ended
    const [, seconds] = /Loop time of ([\d.]+)/.exec(app.log()) ?? []
    if (seconds === undefined) throw new Error(`LAMMPS says no loop time:\n${app.log()}`)
    if (watching === undefined) return Number(seconds)
    watching.signal('SIGTERM')
    await watching.ended
    if (timepointsIn(watching.log()) === 0) throw new Error('no timepoint was taken: more STEPS')
    return Number(seconds)
  } finally {
    pod.end()
  }
}

async function watch(pod: Pod) {
  const watching = await pod.run('perf-sysstat', [observer('perf-sysstat')], {
    RIDEALONG_TARGET_CONTAINER: 'app',
    RIDEALONG_OPTION_RATE: '1',
  })
  await until(watching, /waiting for/)
  return watching
}

function ratioOf(ratio = 1): string {
  return ratio.toFixed(4)
}
