import type { ProcessTimes } from '../../../../src/runs/efficiency/mpi-factors.ts'

/** A program whose pods compute, sleep in MPI, and then wait for each other, again and again. */
export interface Program {
  /** For each pod, the milliseconds that it computes in a step. */
  readonly computing: readonly number[]
  /** The milliseconds in a step that each pod sleeps in MPI. */
  readonly sleeping: number
  /** Whether a pod polls while it waits for the others, or sleeps. */
  readonly isPolling: boolean
  readonly steps: number
}

interface SimulatedPod {
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

/** The pod that a processor runs, and the milliseconds for which it still may. */
interface Turn {
  next: number
  left: number
}

/** The milliseconds for which a processor runs a pod before it runs the next one. */
const SLICE = 4

/**
 * Runs a program in steps of a millisecond, as the kernel would: each pod belongs to one of the
 * processors, which divide their time equally between the pods that can run.
 *
 * @returns the times that mpi-trace and the kernel would count, in seconds
 */
export function simulate(program: Program, processors: number): readonly ProcessTimes[] {
  const pods: SimulatedPod[] = program.computing.map((_, index) => {
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
    for (const [index, pod] of pods.entries()) {
      pod.calls.push(0)
      pod.computing = program.computing[index] ?? 0
      pod.sleeping = program.sleeping
    }
    for (; pods.some(isBusy); elapsed++) runAll(pods, turns, program.isPolling)
  }
  return pods.map((pod) => ({
    pod: String(pod.processor),
    elapsed: elapsed / 1000,
    inMpi: pod.inMpi / 1000,
    fastInMpi: fastTime(pod.calls) / 1000,
    waits: {
      outside: (pod.waited - pod.waitedInMpi) / 1000,
      inMpi: pod.waitedInMpi / 1000,
    },
    ...{ asleep: null, cpu: null, storage: null },
    shares: { ran: pod.ran / elapsed, waited: pod.waited / elapsed, threads: 1 },
  }))
}

/** Returns the time that the calls would have taken if all had been as fast as a sixteenth. */
function fastTime(calls: readonly number[]): number {
  const fast = calls.toSorted((a, b) => a - b).slice(0, Math.ceil(calls.length / 16))
  return (fast.reduce((sum, one) => sum + one, 0) * calls.length) / fast.length
}

function isBusy({ computing, sleeping }: SimulatedPod): boolean {
  return computing > 0 || sleeping > 0
}

function runAll(pods: readonly SimulatedPod[], turns: readonly Turn[], isPolling: boolean): void {
  for (const [processor, turn] of turns.entries()) {
    const own = pods.filter((pod) => pod.processor === processor)
    runOne(own, turn, isPolling)
  }
}

/** Runs one pod of a processor for a millisecond. */
function runOne(own: readonly SimulatedPod[], turn: Turn, isPolling: boolean): void {
  const canRun = own.map((pod) => pod.computing > 0 || (pod.sleeping <= 0 && isPolling))
  takeTurn(turn, canRun)
  for (const [at, pod] of own.entries())
    if (canRun[at] === true && at !== turn.next) wait(pod)
    else live(pod, canRun[at] === true)
}

/** Lets a pod wait for a processor for a millisecond. */
function wait(pod: SimulatedPod): void {
  pod.waited += 1
  if (pod.computing > 0) return
  pod.inMpi += 1
  pod.waitedInMpi += 1
}

/** Lets a pod run, or sleep in MPI, for a millisecond. */
function live(pod: SimulatedPod, isRunning: boolean): void {
  if (pod.computing <= 0) {
    pod.inMpi += 1
    pod.calls.push((pod.calls.pop() ?? 0) + 1)
  }
  if (isRunning) run(pod)
  else pod.sleeping -= 1
}

/** Chooses the pod that runs next, if the one before has used its time or cannot run. */
function takeTurn(turn: Turn, canRun: readonly boolean[]): void {
  if (turn.left <= 0 || canRun[turn.next] !== true) {
    const order = canRun.map((_, at) => (turn.next + 1 + at) % canRun.length)
    turn.next = order.find((at) => canRun[at]) ?? turn.next
    turn.left = SLICE
  }
  turn.left -= 1
}

function run(pod: SimulatedPod): void {
  pod.ran += 1
  if (pod.computing > 0) pod.computing -= 1
}
