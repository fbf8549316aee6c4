import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Identity, observer, openFolder, podOf, type Running } from '../pod.ts'
import { onPath } from '../prerequisites.ts'
import { tool } from './tool.ts'

const SOURCE = fileURLToPath(new URL('stacks.c', import.meta.url))

/** The threads of a process in the output of the observer's command `stacks`. */
export interface AskedThread {
  readonly id: number
  readonly state: string
  readonly call: string | null
  /** The names of the functions, from the outermost on; undefined without a stack. */
  readonly frames: readonly string[] | undefined
  /** The functions of Python, from the outermost on; undefined without such a stack. */
  readonly python: readonly string[] | undefined
  readonly cut: boolean | undefined
  readonly why: string | undefined
}

export interface AskedProcess {
  readonly pid: number
  readonly program: string
  readonly container: string | null
  readonly rank: number | null
  readonly threads: readonly AskedThread[]
}

/** A pod with the tool of cpu-profile, in which stacks can be requested. */
export interface StacksPod {
  /** The folder of the results. */
  readonly results: string
  /** Starts a task of stacks.c in the target container, with the tool unless `isPlain`. */
  start(task: string, options?: StartOptions): Promise<Running>
  /** Runs the command `stacks` in the container of an observer, and returns its whole output. */
  request(words?: readonly string[], options?: RequestOptions): Promise<readonly AskedProcess[]>
  /** Runs the command `stacks` in the container of the observer. */
  run(words?: readonly string[], options?: RequestOptions): Promise<Running>
  /** Lets the tasks return from their calls, and end. */
  endTasks(): void
}

export interface StartOptions {
  readonly rank?: number
  readonly as?: Identity
  /** Ticks of the profiler in a second of processor time. */
  readonly frequency?: number
  readonly isPlain?: boolean
  readonly isStatic?: boolean
}

export interface RequestOptions {
  readonly container?: string
  readonly as?: Identity
  readonly env?: NodeJS.ProcessEnv
  /** The command in place of the observer's program. */
  readonly argv?: readonly string[]
}

/** Returns the path of the observer's program under its first name. */
export function observerProgram(): string {
  return join(dirname(observer('cpu-profile')), 'ridealong-observer')
}

/** Starts a pod in which the tool is installed. */
export async function startStacksPod(t: Test, source = tool().source): Promise<StacksPod> {
  const pod = await podOf(t)
  const volume = openFolder('ridealong-stacks-')
  t.teardown(() => rmSync(volume, { recursive: true, force: true }))
  const folders = { RIDEALONG_TOOL_SOURCE: source, RIDEALONG_TOOL_VOLUME: volume }
  const installer = await pod.run('cpu-profile-install', [observer('install')], folders)
  t.equal(await installer.ended, 0)
  const compile = (name: string, flags: readonly string[]) => {
    const path = join(volume, name)
    execFileSync('gcc', ['-O1', '-pthread', ...flags, '-o', path, SOURCE])
    return path
  }
  const [program, fixed] = [compile('stacks', []), compile('stacks-static', ['-static'])]
  const [results, end] = [join(volume, 'results'), join(volume, 'end')]
  const preload = [`LD_PRELOAD=${volume}/tool/loader.so`, `CPUPROFILE=${results}/cpu`]
  const run = (words: readonly string[] = [], options: RequestOptions = {}) => {
    const { container = 'cpu-profile', as, env, argv = [observerProgram(), 'stacks'] } = options
    const settings = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_RESULTS: results, ...env }
    return pod.run(container, [...argv, ...words], settings, as)
  }
  return {
    results,
    start: (task, { rank, as, frequency = 100, isPlain = false, isStatic = false } = {}) => {
      const variables = [
        ...(isPlain ? [] : [...preload, `CPUPROFILE_FREQUENCY=${frequency}`]),
        ...(rank === undefined ? [] : [`PMI_RANK=${rank}`]),
      ]
      const argv = [isStatic ? fixed : program, task, end]
      return pod.run('app', [onPath('env'), ...variables, ...argv], {}, as)
    },
    run,
    request: async (words, options) => {
      const asked = await run(words, options)
      t.equal(await asked.ended, 0, asked.log())
      return readOutput(asked.log())
    },
    endTasks: () => writeFileSync(end, ''),
  }
}

interface NumberedStacks {
  readonly frames?: readonly number[]
  readonly python?: readonly number[]
}

/**
 * Reads the output of the command `stacks`.
 *
 * @throws if it is not whole
 */
export function readOutput(log: string): readonly AskedProcess[] {
  const [first, ...rest] = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const last = rest.pop()
  if (first.stacks !== 1 || last?.end !== true) throw new Error(`not whole: ${log}`)
  const nameOf = (number: number): string => first.functions[number][0]
  return rest.map(({ threads, ...process }) => ({
    ...process,
    threads: threads.map(({ frames, python, ...thread }: NumberedStacks) => {
      return { ...thread, frames: frames?.map(nameOf), python: python?.map(nameOf) }
    }),
  }))
}
