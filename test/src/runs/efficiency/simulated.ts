import type { ProcessTimes } from '../../../../src/runs/efficiency/mpi-factors.ts'

/** A program whose ranks compute, sleep in MPI, and then wait for each other, again and again. */
export interface Program {
  /** For each rank, the milliseconds that it computes in a step. */
  readonly computing: readonly number[]
  /** The milliseconds in a step that each rank sleeps in MPI. */
  readonly sleeping: number
  /** Whether a rank polls while it waits for the others, or sleeps. */
  readonly isPolling: boolean
  readonly steps: number
}

interface SimulatedRank {
  processor: number
  computing: number
  sleeping: number
  inMpi: number
  ran: number
  waited: number
  waitedInMpi: number
  /** For each step, the time in MPI without waiting for a processor. */
  readonly calls: number[]
}

/** The rank that a processor runs, and the milliseconds for which it still may. */
interface Turn {
  next: number
  left: number
}

/** The milliseconds for which a processor runs a rank before it runs the next one. */
const SLICE = 4

/**
 * Runs a program in steps of a millisecond, as the kernel would: each rank belongs to one of the
 * processors, which divide their time equally between the ranks that can run.
 *
 * @returns the times that mpi-trace and the kernel would count, in seconds
 */
export function simulate(program: Program, processors: number): readonly ProcessTimes[] {
  const ranks: SimulatedRank[] = program.computing.map((_, index) => {
    const none = {
      computing: 0,
      sleeping: 0,
      inMpi: 0,
      ran: 0,
      waited: 0,
      waitedInMpi: 0,
      calls: [],
    }
    return { processor: index % processors, ...none }
  })
  const turns: Turn[] = Array.from({ length: processors }, () => ({ next: 0, left: 0 }))
  let elapsed = 0
  for (let step = 0; step < program.steps; step++) {
    for (const [index, rank] of ranks.entries()) {
      rank.calls.push(0)
      rank.computing = program.computing[index] ?? 0
      rank.sleeping = program.sleeping
    }
    for (; ranks.some(isBusy); elapsed++) runAll(ranks, turns, program.isPolling)
  }
  return ranks.map((rank) => ({
    pod: String(rank.processor),
    elapsed: elapsed / 1000,
    ...{ asleep: null, cpu: null, storage: null },
    inMpi: rank.inMpi / 1000,
    fastInMpi: fastTime(rank.calls) / 1000,
    waits: {
      outside: (rank.waited - rank.waitedInMpi) / 1000,
      inMpi: rank.waitedInMpi / 1000,
    },
    shares: { ran: rank.ran / elapsed, waited: rank.waited / elapsed, threads: 1 },
  }))
}

/** Returns the time that the calls would have taken if all had been as fast as a sixteenth. */
function fastTime(calls: readonly number[]): number {
  const fast = calls.toSorted((a, b) => a - b).slice(0, Math.ceil(calls.length / 16))
  return (fast.reduce((sum, one) => sum + one, 0) * calls.length) / fast.length
}

function isBusy({ computing, sleeping }: SimulatedRank): boolean {
  return computing > 0 || sleeping > 0
}

function runAll(ranks: readonly SimulatedRank[], turns: readonly Turn[], isPolling: boolean): void {
  for (const [processor, turn] of turns.entries()) {
    const own = ranks.filter((rank) => rank.processor === processor)
    runOne(own, turn, isPolling)
  }
}

/** Runs one rank of a processor for a millisecond. */
function runOne(own: readonly SimulatedRank[], turn: Turn, isPolling: boolean): void {
  const canRun = own.map((rank) => rank.computing > 0 || (rank.sleeping <= 0 && isPolling))
  takeTurn(turn, canRun)
  for (const [at, rank] of own.entries())
    if (canRun[at] === true && at !== turn.next) wait(rank)
    else live(rank, canRun[at] === true)
}

/** Lets a rank wait for a processor for a millisecond. */
function wait(rank: SimulatedRank): void {
  rank.waited += 1
  if (rank.computing > 0) return
  rank.inMpi += 1
  rank.waitedInMpi += 1
}

/** Lets a rank run, or sleep in MPI, for a millisecond. */
function live(rank: SimulatedRank, isRunning: boolean): void {
  if (rank.computing <= 0) {
    rank.inMpi += 1
    rank.calls.push((rank.calls.pop() ?? 0) + 1)
  }
  if (isRunning) run(rank)
  else rank.sleeping -= 1
}

/** Chooses the rank that runs next, if the one before has used its time or cannot run. */
function takeTurn(turn: Turn, canRun: readonly boolean[]): void {
  if (turn.left <= 0 || canRun[turn.next] !== true) {
    const order = canRun.map((_, at) => (turn.next + 1 + at) % canRun.length)
    turn.next = order.find((at) => canRun[at]) ?? turn.next
    turn.left = SLICE
  }
  turn.left -= 1
}

function run(rank: SimulatedRank): void {
  rank.ran += 1
  if (rank.computing > 0) rank.computing -= 1
}
