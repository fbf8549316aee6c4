import type { Readable, Writable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'
import type { Logger } from 'pino'

/** The standard input of the command: a terminal, or a file or a pipe. */
export type InputStream = ReadStream | (Readable & { readonly isTTY?: false })

/** An output of the command: a terminal, which has a width, or a file or a pipe. */
export type OutputStream = WriteStream | (Writable & { readonly isTTY?: false })

/**
 * What interrupts the command: a signal, or `output`, an error of standard output or standard
 * error.
 */
export type Interruption = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'output'

/** The end of a server, which a signal causes. */
export interface ServerEnd {
  /** Closes the server. */
  readonly close: (signal: string | undefined) => Promise<void>
  /** The longest time that `close` may take, in milliseconds. */
  readonly limitMs: number
  readonly log: Logger
}

/**
 * What runs a command and gives it its streams and its environment, like `IOStreams` of kubectl:
 * the process (main.ts), or a test. A command touches nothing else of the process that would also
 * change another command in it.
 */
export interface Host {
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** The environment variables. */
  readonly environment: NodeJS.ProcessEnv
  /** The path by which the user called the program, before any link is followed. */
  readonly programPath: string
  /**
   * Calls the listener at each of these interruptions, of which each ends the process if nothing
   * listens for it.
   *
   * @returns a function that stops listening
   */
  readonly onInterruption: (
    interruptions: readonly Interruption[],
    listener: () => void,
  ) => () => void
  /** Waits until a signal stops a server, and closes the server. */
  readonly untilStopped: (end: ServerEnd) => Promise<void>
  /** Prepares the process for a command that reads much data and keeps little of it. */
  readonly keepHeapSmall: () => void
}
