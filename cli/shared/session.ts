import { basename } from 'node:path'
import { EXIT, type ExitCode } from './errors.ts'
import type { Host } from './host.ts'
import { createPrinter, type Printer } from './output.ts'

/** One call of the command: its host, what it prints, and its exit code. */
export interface Session extends Host, Printer {
  /** The name by which the user called the program, for messages. */
  readonly programName: string
  /** The exit code, unless an error is thrown. */
  exitCode: ExitCode
}

/** Opens the session of one call. */
export function openSession(host: Host): Session {
  const name = programName(host.programPath)
  return { ...host, ...createPrinter(host), programName: name, exitCode: EXIT.ok }
}

/** The name of the program that kubectl runs for `kubectl ridealong` (kubectl pkg/cmd/cmd.go). */
const PLUGIN = 'kubectl-ridealong'

/**
 * Returns the name by which the user called the program, for its help.
 *
 * @param path the path of the program, before any link is followed
 */
function programName(path: string): string {
  return basename(path) === PLUGIN ? 'kubectl ridealong' : 'ridealong'
}
