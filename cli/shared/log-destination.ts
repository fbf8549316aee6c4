import { type DestinationStream, destination } from 'pino'
import type { OutputStream } from './session.ts'

/**
 * Returns where the log of a server is written. If standard output is that of the process, pino's
 * own writer writes to its file descriptor, which takes much less processor time than a stream.
 */
export function logDestination(
  stdout: OutputStream,
  options: Extract<Parameters<typeof destination>[0], { dest?: unknown }>,
): DestinationStream {
  return 'fd' in stdout && typeof stdout.fd === 'number'
    ? destination({ ...options, dest: stdout.fd })
    : stdout
}
