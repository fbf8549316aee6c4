import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { run, temporaryFolder } from '../mpi/programs.ts'
import type { SuiteProgram } from './suite-programs.ts'

/** How a program ended. */
export interface End {
  /** The exit code, the name of the signal, or `time-out`. */
  readonly code: string
  /** The lines of standard output, sorted, because processes write in any order. */
  readonly lines: readonly string[]
}

/** The ends of a program of a suite. */
export interface Ends {
  /** Ends without a tool, at least one. */
  readonly plain: readonly End[]
  readonly recorded: End
}

/**
 * What a tool changed. A program whose ends without the tool differ says nothing about the tool,
 * unless its end with the tool is a third one.
 */
export type Verdict = 'equal' | 'unstable' | 'differs'

/** Returns the end of a command. It is killed with all of its processes after some seconds. */
export async function endOf(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  seconds: number,
): Promise<End> {
  const folder = temporaryFolder()
  const limited = ['timeout', '--kill-after=2', String(seconds), ...words]
  const { code, output } = await run(limited, { ...env, TMPDIR: folder })
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  return { code: TIMED_OUT.includes(code) ? 'time-out' : String(code), lines: linesOf(output) }
}

/** The exit codes of timeout(1) for a command that it has ended, or killed. */
const TIMED_OUT: readonly (number | string)[] = [124, 137]

/** Returns the lines of an output, without addresses, which differ between runs. */
function linesOf(output: string): readonly string[] {
  const lines = output.replaceAll(/0x[0-9a-f]+/g, '0x').split('\n')
  return lines.filter((line) => line !== '').sort()
}

/** Compares the ends of a program. The output counts only if it is the same in all plain runs. */
export function compareEnds({ plain, recorded }: Ends): Verdict {
  const codes = new Set(plain.map(({ code }) => code))
  if (!codes.has(recorded.code)) return 'differs'
  if (codes.size > 1) return 'unstable'
  const outputs = new Set(plain.map(textOf))
  const isCompared = recorded.code !== 'time-out' && outputs.size === 1
  return isCompared && !outputs.has(textOf(recorded)) ? 'differs' : 'equal'
}

function textOf({ lines }: End): string {
  return lines.join('\n')
}

/** Compiles a program. Returns false if its compiler refuses it. */
export function compiles({ build, folder }: Pick<SuiteProgram, 'build' | 'folder'>): boolean {
  const [program = '', ...rest] = build
  try {
    execFileSync(program, rest, { cwd: folder, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
