import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('programs/ends.c', import.meta.url))

/** The ways in which the program ends.c ends, and its exit code. */
export const ENDS = {
  return: 0,
  exit: 0,
  alone: 0,
  cancel: 0,
  destructor: 0,
  kernel: 0,
  fork: 5,
  // The exit code of `timeout`.
  block: 124,
} as const

/** Builds ends.c at a path, for the C library of the compiler. */
export function buildEnds(path: string, compiler: string, ...flags: readonly string[]): void {
  execFileSync(compiler, ['-O1', '-w', '-pthread', ...flags, SOURCE, '-o', path])
}

/** Returns the words that run ends.c, and kill it with its children if it does not end. */
export const endIn = (path: string, way: string) =>
  way === 'block' ? ['timeout', '2', path, way] : ['timeout', '--signal=KILL', '30', path, way]
