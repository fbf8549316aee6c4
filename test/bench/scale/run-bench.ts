import type { Command } from 'commander'
import { problemOfPrerequisites } from '../../cluster/machine/prerequisites.ts'
import { say } from './ending.ts'

/**
 * Runs a benchmark that needs a control plane, with the options of the command line. The exit code
 * is 2 if a program is missing, or on an error.
 */
export async function runBench<Options extends object>(
  program: Command,
  bench: (options: Options) => Promise<void>,
): Promise<void> {
  program.action(async (options: Options) => {
    const problem = await problemOfPrerequisites(false)
    if (problem === undefined) return bench(options)
    say(problem)
    process.exitCode = 2
  })
  await program.parseAsync().catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error))
    process.exitCode = 2
  })
}
