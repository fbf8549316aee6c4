import type { Problem, SourceFile } from './problem.ts'

/** The first modules of the process, which give its streams and environment to the command. */
const PROGRAMS = /^cli\/(main\.ts$|start\/)/

const MEMBERS = '(?:stdout|stderr|stdin|argv|env|exit|exitCode|chdir|umask)'

const USES = [
  new RegExp(`\\bprocess\\??\\.${MEMBERS}\\b`, 'g'),
  new RegExp(`\\{[^{}]*\\b${MEMBERS}\\b[^{}]*\\} = (?:globalThis\\.)?process\\b`, 'g'),
  /\bfrom 'node:process'/g,
]

const MESSAGE =
  'two commands may run in one process: use the streams and the environment of the session or ' +
  'the host (cli/shared/host.ts), and return the exit code, instead of'

/** Finds code that uses the streams, the environment or the exit code of the process. */
export function findProcessUse({ path, text }: SourceFile): readonly Problem[] {
  if (PROGRAMS.test(path)) return []
  return USES.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
      path,
      line: text.slice(0, index).split('\n').length,
      message: `${MESSAGE} ${found}`,
    })),
  )
}
