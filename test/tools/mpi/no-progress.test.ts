import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { openFolder, until } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { makeCgroup, withCgroups } from '../../observers/pressure/cgroup.ts'
import { WITH_HUNG_MOUNT } from '../../observers/pressure/hung-mount.ts'
import { NATIVE } from '../watched-pod.ts'
import { liveTop } from './live-top.ts'
import { LIBRARIES, type Library, mpirun, mpiTests, programsFor } from './programs.ts'
import { tracedPod } from './traced-pod.ts'

// Most of the processes of these jobs wait, so several jobs run at the same time. They run outside
// the cases, because tap does not always report the right result of cases that run together.
const options = mpiTests()
let free = 4
const queue: (() => void)[] = []

/** Waits until fewer than four jobs run, and runs another one. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free -= 1
  else await new Promise<void>((resolve) => queue.push(resolve))
  try {
    return await work()
  } finally {
    const next = queue.shift()
    if (next === undefined) free += 1
    else next()
  }
}

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** A finding of the report in JSON, as far as these tests read it. */
interface Finding {
  readonly rule: string
  readonly sentence: string
}

const run = promisify(execFile)

/**
 * Returns the sentences of the findings about progress in a log. The other jobs go on meanwhile: a
 * test that waits here without reading their rows would find them silent.
 */
async function findingsIn(log: string): Promise<readonly string[]> {
  const path = join(openFolder('ridealong-stuck-'), 'mpi-trace.log')
  writeFileSync(path, log)
  const words = [MAIN, 'report', path, '--output', 'json']
  const { stdout } = await run(process.execPath, words)
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] }
  return findings.filter(({ rule }) => rule === 'no-progress').map(({ sentence }) => sentence)
}

/** A job of stuck.c or another program. */
interface Job {
  readonly library: Library
  readonly program?: 'stuck' | 'disagree'
  readonly words: readonly string[]
  /** The number of processes. */
  readonly count: number
  /** The number of timepoints until the job is ended. */
  readonly timepoints: number
  /** Whether the job goes on, so that nothing is said of it at its end. */
  readonly goesOn?: boolean
  /** Whether a shell starts each process, so that mpirun does not end the job with it. */
  readonly hasShell?: boolean
  /** More words of mpirun. */
  readonly flags?: readonly string[]
  /** The words that start mpirun, and the file that the last process then reads. */
  readonly before?: readonly string[]
  readonly file?: string
}

/** The timepoints that a job may take longer until it stops, on a busy machine. */
const SLOW_START = 20

/**
 * Runs a job for this many timepoints. Returns the findings of the report, and what `top` has said
 * at each of its looks.
 */
async function runJob(t: Pick<Test, 'teardown'>, job: Job) {
  const { library, words, count, timepoints, flags = [], before = [], file = '' } = job
  const { hasShell = true, goesOn = false } = job
  const { watching, start } = await tracedPod(t, NATIVE)
  const { [job.program ?? 'stuck']: path } = programsFor(library)
  const [program = '', ...rest] = mpirun(library, count)
  // mpirun ends the job if a process that it has started is killed, but not if a child of it is.
  const shell = hasShell ? ['sh', '-c', '"$0" "$@"; exec sleep 1000'] : []
  const env = [onPath('env'), `STUCK_FILE=${file}`]
  const app = await start(...env, ...before, program, ...flags, ...rest, ...shell, path, ...words)
  const top = liveTop(watching)
  const said: (readonly string[])[] = []
  const timesOf = (section: string) =>
    new Set(rowsOf(watching, section).map(({ time }) => time)).size
  // MPI_Init takes long on a busy machine, and its timepoints are not those of the job after it.
  const times = () => Math.max(timesOf('open'), timesOf('start'))
  const hasEnough = () => {
    const saidNow = top.look()
    said.push(saidNow)
    const isDescribed = goesOn || saidNow.length > 0
    return times() >= timepoints + (isDescribed ? 0 : SLOW_START)
  }
  await until(watching, hasEnough, 300_000 + 2000 * (timepoints + SLOW_START))
  // The last look was before the last timepoints, for long on a busy machine.
  said.push(top.look())
  watching.signal('SIGTERM')
  const code = await watching.ended
  app.signal('SIGKILL')
  const mismatches = mismatchesIn(watching, 'mpi-trace')
  return {
    code,
    mismatches,
    notices: noticesOf(watching),
    found: await findingsIn(watching.log()),
    said,
  }
}

type Outcome = Awaited<ReturnType<typeof runJob>>

/** Checks that the observer ended well, and could read the open calls. */
function checkObserver(t: Test, { code, mismatches, notices }: Outcome) {
  t.equal(code, 0)
  t.strictSame(mismatches, [])
  t.notMatch(notices.join('\n'), /open calls/)
}

/** Runs a job in its turn. Its pod ends with it, and not with a case. */
async function runInTurn(job: Job): Promise<Outcome> {
  const ends: (() => unknown)[] = []
  const teardown = (end: () => unknown) => void ends.unshift(end)
  return inTurn(async () => {
    try {
      return await runJob({ teardown }, job)
    } finally {
      for (const end of ends) await end()
    }
  })
}

/** Begins a job, and adds the case that checks it. */
function testJob(name: string, job: Job, check: (t: Test, outcome: Outcome) => void) {
  const outcome = options.skip === false ? runInTurn(job) : undefined
  // The case reports the error.
  outcome?.catch(() => {})
  t.test(name, options, async (t) => {
    if (outcome === undefined) return
    checkObserver(t, await outcome)
    check(t, await outcome)
  })
}

const SINCE = '^(Since the start|(Since|For) [\\d.]+ (s|min)( \\d+ s)?( after the start)?), '
const ALLREDUCE = 'in MPI_Allreduce number 6 on MPI_COMM_WORLD\\.'
const LATE = `${SINCE}MPI ranks 0-1 wait ${ALLREDUCE} MPI rank 2 has not come: it `

/** A mode of stuck.c, with the processes, the timepoints and the finding. */
type StuckJob = readonly [mode: string, count: number, timepoints: number, pattern: string]

const STUCK: readonly StuckJob[] = [
  ['sleep', 3, 15, `${LATE}sleeps in a system call\\.$`],
  ['stop', 3, 5, `${LATE}is stopped\\.$`],
  ['spin', 2, 66, `MPI rank 0 waits ${ALLREDUCE} MPI rank 1 .* it computes for [\\d.]+ s; the`],
  ['other', 3, 5, 'These calls do not match: all members'],
  ['early', 3, 5, 'MPI_Finalize'],
  ['finalize', 3, 15, `${SINCE}MPI ranks 0-1 wait in MPI_Finalize number 6 on .* it sleeps`],
  ['missing', 2, 5, 'MPI_Recv for MPI rank 0.* This is a deadlock'],
  ['sends', 3, 5, 'MPI_Ssend for MPI rank .* This is a deadlock'],
  ['threads', 3, 15, 'MPI ranks 0-1 wait in MPI_Allreduce .* MPI rank 2 has not come: it sleeps'],
  ['server', 3, 66, 'MPI rank 2 has not come: it waits in MPI_Recv\\.$'],
  [
    'sub',
    4,
    15,
    'MPI_Barrier number 2 on the communicator 2-.* MPI rank 2 has not come: it sleeps',
  ],
]

/** Checks that the report and `top` describe a job that stops. */
function checkStuck(t: Test, { found, said }: Outcome, pattern: string) {
  t.equal(found.length, 1)
  t.match(found[0], new RegExp(pattern))
  t.match(said.at(-1), [new RegExp(pattern)])
}

for (const library of LIBRARIES) {
  for (const [mode, count, timepoints, pattern] of STUCK) {
    const job = { library, words: [mode], count, timepoints }
    testJob(`${library}: a job that stops is described: ${mode}`, job, (t, outcome) => {
      checkStuck(t, outcome, pattern)
    })
  }

  const flags = library === 'openmpi' ? ['--enable-recovery'] : []
  const killed = { library, words: ['kill'], count: 3, timepoints: 8, flags }
  testJob(`${library}: a process that is killed is late`, killed, (t, outcome) => {
    checkStuck(t, outcome, `${LATE}ended without MPI_Finalize\\.$`)
  })
}

/** The calls of disagree.c, with the timepoints and the finding. */
const DISAGREE = [
  ['scatter', 5, 'The roots differ: .* MPI_Scatter with MPI rank 0 .*, MPI rank 2 with MPI rank 1'],
  ['stop', 8, 'MPI_Allreduce .* MPI rank 2 has come, but it is stopped in MPI_Allreduce\\.$'],
  ['fence-barrier', 66, 'MPI ranks 0-1 wait in MPI_Win_fence, MPI rank 2 .* none leaves its call'],
] as const

for (const library of LIBRARIES)
  for (const [call, timepoints, pattern] of DISAGREE) {
    const job = { library, program: 'disagree', words: [call], count: 3, timepoints } as const
    testJob(`${library}: calls that do not agree are described: ${call}`, job, (t, outcome) => {
      checkStuck(t, outcome, `${SINCE}.*${pattern}`)
    })
  }

const INIT = `${SINCE}MPI ranks 0-1 wait in MPI_Init\\. MPI rank 2 has not called MPI_Init: `

for (const library of LIBRARIES) {
  const stops = { library, words: ['init-stop'], count: 3, timepoints: 5 }
  testJob(`${library}: a process that stops before MPI_Init is late`, stops, (t, outcome) => {
    checkStuck(t, outcome, `${INIT}its process stuck \\(PID \\d+\\) is stopped\\.$`)
  })

  const sleeps = { library, words: ['init-sleep'], count: 3, timepoints: 306 }
  testJob(`${library}: a process that never calls MPI_Init is late`, sleeps, (t, outcome) => {
    checkStuck(t, outcome, `${INIT}its process stuck \\(PID \\d+\\) sleeps in a system call\\.$`)
  })
}

// The launcher of MPICH ends the job.
const KILLED_EARLY = {
  ...({ library: 'openmpi', words: ['init-kill'], count: 3, timepoints: 10 } as const),
  ...{ flags: ['--enable-recovery'], hasShell: false },
}
testJob('openmpi: a process that is killed before MPI_Init is late', KILLED_EARLY, (t, outcome) => {
  checkStuck(t, outcome, `${INIT}its process stuck \\(PID \\d+\\) has ended\\.$`)
})

for (const library of LIBRARIES) {
  const path = openFolder('ridealong-stuck-')
  const before = ['python3', '-c', WITH_HUNG_MOUNT, path]
  const job = { library, words: ['storage'], count: 3, timepoints: 15, before, file: path }
  testJob(`${library}: a file system that hangs is described`, job, (t, outcome) => {
    checkStuck(t, outcome, `${LATE}waits for storage\\.$`)
  })
}

/** The modes of stuck.c that are slow, but move, with the processes and the timepoints. */
const SLOW = [
  ['uneven', 3, 12],
  ['compute', 2, 12],
  ['ring', 3, 12],
  ['master', 3, 12],
  ['root', 2, 12],
  ['poll', 2, 12],
  ['large', 2, 12],
  ['disk', 3, 30],
  ['alone', 3, 30],
  ['threads', 2, 12],
  ['test', 3, 12],
  ['startup', 3, 70],
  ['init', 3, 70],
] as const

for (const [mode, count, timepoints] of SLOW) {
  const job = { library: 'openmpi', words: [mode, '300'], count, timepoints, goesOn: true } as const
  testJob(`openmpi: a job that is slow, but moves, has no finding: ${mode}`, job, checkMoves)
}

function checkMoves(t: Test, { found, said }: Outcome) {
  t.strictSame(found, [])
  t.strictSame(said.flat(), [])
}

const RESUMED: Job = {
  ...{ library: 'openmpi', words: ['resume', '300'], count: 3, timepoints: 22, goesOn: true },
}
testJob('openmpi: a job that goes on again is no longer described', RESUMED, (t, outcome) => {
  const { found, said } = outcome
  t.match(said.flat()[0], /^For 1\d(\.\d+)? s, .* MPI rank 2 has not come: it sleeps/)
  t.strictSame(said.at(-1), [])
  t.strictSame(found, [])
})

t.test(
  'openmpi: a job with a low limit of processor time has no finding',
  withCgroups(options, 'cpu'),
  async (t) => {
    // With this weight, the job reaches its limit on a busy machine, too.
    const cgroup = makeCgroup(t, 'cpu', { 'cpu.cfs_quota_us': '30000', 'cpu.shares': '262144' })
    const before = ['sh', '-c', `${cgroup.enter}; exec "$0" "$@"`]
    const words = ['compute', '300']
    const job = {
      library: 'openmpi',
      words,
      count: 2,
      timepoints: 20,
      before,
      goesOn: true,
    } as const
    const outcome = await runInTurn(job)
    checkObserver(t, outcome)
    checkMoves(t, outcome)
    t.ok(cgroup.readKey('cpu.stat', 'nr_throttled') > 10, 'the job was throttled')
  },
)
