import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../cli/command.ts'
import { type Library, mpirun } from '../mpi/programs.ts'
import { tracedPod } from '../mpi/traced-pod.ts'
import { NATIVE } from '../watched-pod.ts'
import type { SuiteProgram } from './suite-programs.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

/** How programs are watched. */
export interface HangOptions {
  readonly library: Library
  /** The time after which a program that has not ended hangs. */
  readonly seconds: number
  /** The number of programs that run at the same time. */
  readonly jobs: number
}

/**
 * Watches programs that are built, and prints a line for each.
 *
 * @returns whether 95 of 100 programs that hang have a finding `no-progress`, and none that ends
 */
export async function findHangs(
  programs: readonly SuiteProgram[],
  { library, seconds, jobs }: HangOptions,
): Promise<boolean> {
  const queue = [...programs]
  const seen: Watched[] = []
  const work = async () => {
    for (let program = queue.shift(); program !== undefined; program = queue.shift()) {
      const watched = await watchProgram(program, library, seconds)
      seen.push(watched)
      say(`${program.title}: ${describe(watched)}`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  const ended = seen.filter(({ end }) => end !== undefined)
  const hanging = seen.filter(({ end }) => end === undefined)
  const [wrong, right] = [countFound(ended), countFound(hanging)]
  say(`hang: ${hanging.length}, with the finding: ${right}`)
  say(`ended: ${ended.length}, with the finding: ${wrong}`)
  return wrong === 0 && right >= 0.95 * hanging.length
}

function countFound(programs: readonly Watched[]): number {
  return programs.filter(({ found }) => found !== undefined).length
}

function describe({ end, found }: Watched): string {
  const finding = found ? `after ${found.seconds} s: ${found.sentence}` : 'no finding'
  return `${end === undefined ? 'hangs' : `ended with ${end}`}, ${finding}`
}

/** The seconds between two timepoints of the observer. */
const RATE = 5

/** A sentence of a finding, and the seconds from the start of the program until it was there. */
interface Found {
  readonly sentence: string
  readonly seconds: number
}

/** How a program ended, and the finding about it. */
interface Watched {
  /** The exit code or the signal; undefined if the program had not ended. */
  readonly end: string | undefined
  /** The first finding `no-progress`. */
  readonly found: Found | undefined
}

/** A program that runs in a pod. */
interface Started {
  readonly ended: Promise<number | string>
  /** Returns the log of the observer. */
  readonly log: () => string
  /** Returns the seconds since its start. */
  readonly passed: () => number
}

/**
 * Runs a program with mpi-trace in a simulated pod until it ends, but at most for some seconds. The
 * report is made at each timepoint, as far as the observer has written its log. Needs root.
 */
async function watchProgram(
  { ranks, words }: SuiteProgram,
  library: Library,
  seconds: number,
): Promise<Watched> {
  const ends: (() => unknown)[] = []
  const teardown = (end: () => unknown) => void ends.unshift(end)
  try {
    const settings = { ...NATIVE, RIDEALONG_OPTION_RATE: String(RATE) }
    const { watching, start } = await tracedPod({ teardown }, settings)
    const began = performance.now()
    const { ended } = await start(...mpirun(library, ranks, ...words))
    const passed = () => (performance.now() - began) / 1000
    return await watch({ ended, log: watching.log, passed }, seconds)
  } finally {
    for (const end of ends) await end()
  }
}

async function watch({ ended, log, passed }: Started, seconds: number): Promise<Watched> {
  let found: Found | undefined
  while (true) {
    const end = await Promise.race([ended, sleep(1000 * RATE)])
    const sentence = found === undefined ? await findSentence(log()) : undefined
    if (sentence !== undefined) found = { sentence, seconds: Math.round(passed()) }
    if (end !== undefined || passed() > seconds) return { end: end?.toString(), found }
  }
}

/** Returns the first sentence of a finding `no-progress` in the report of a log. */
async function findSentence(log: string): Promise<string | undefined> {
  const { out } = await run(['report', '-', '-o', 'json'], log)
  if (out === '') return
  const { findings } = JSON.parse(out) as {
    readonly findings: readonly { readonly rule: string; readonly sentence: string }[]
  }
  return findings.find(({ rule }) => rule === 'no-progress')?.sentence
}
