// Records the logs of test/logs/stuck: jobs of disagree.c with three processes, under mpi-trace in
// a simulated pod, and the same jobs if the processes agree. The script needs root.
//
//   node test/tools/mpi/record-disagreements.ts NAME...
//
// records the jobs with these names; all without a name.
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { NATIVE } from '../watched-pod.ts'
import { type Library, mpirun, programsFor } from './programs.ts'
import { tracedPod } from './traced-pod.ts'

const LOGS = fileURLToPath(new URL('../../logs/stuck/', import.meta.url))

/** A job, the seconds between samples, and the seconds until a job that stops is ended. */
interface Job {
  readonly library: Library
  readonly rate: number
  readonly seconds: number
}

const AT_ONCE = { rate: 4, seconds: 13 } as const
const AFTER_A_MINUTE = { rate: 22, seconds: 92 } as const

/** The jobs, by the first argument of disagree.c. */
const JOBS: Readonly<Record<string, Job>> = {
  reduce: { library: 'openmpi', ...AT_ONCE },
  reordered: { library: 'openmpi', ...AT_ONCE },
  gather: { library: 'mpich', ...AT_ONCE },
  stop: { library: 'mpich', ...AT_ONCE },
  'count-alltoallv': { library: 'mpich', ...AFTER_A_MINUTE },
  'count-gatherv': { library: 'openmpi', ...AFTER_A_MINUTE },
  'fence-barrier': { library: 'mpich', ...AFTER_A_MINUTE },
  'fence-window': { library: 'openmpi', ...AFTER_A_MINUTE },
  'wait-barrier': { library: 'openmpi', ...AFTER_A_MINUTE },
  'lock-two': { library: 'mpich', ...AFTER_A_MINUTE },
}

async function record(name: string, { library, rate, seconds }: Job, isRight: boolean) {
  const ends: (() => unknown)[] = []
  const teardown = (end: () => unknown) => void ends.unshift(end)
  try {
    const settings = { ...NATIVE, RIDEALONG_OPTION_RATE: String(isRight ? 1 : rate) }
    const { watching, start } = await tracedPod({ teardown }, settings)
    const { disagree } = programsFor(library)
    const app = await start(...mpirun(library, 3, disagree, name, ...(isRight ? ['right'] : [])))
    await (isRight ? app.ended : sleep(1000 * seconds))
    if (isRight) await sleep(1500)
    watching.signal('SIGTERM')
    await watching.ended
    writeFileSync(`${LOGS}${name}${isRight ? '-right' : ''}.log`, watching.log())
  } finally {
    for (const end of ends) await end()
  }
}

mkdirSync(LOGS, { recursive: true })
const [, , ...names] = process.argv
for (const [name, job] of Object.entries(JOBS))
  if (names.length === 0 || names.includes(name))
    for (const isRight of [false, true]) await record(name, job, isRight)
