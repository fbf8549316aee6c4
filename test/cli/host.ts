import { clearLine, cursorTo } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import type { Direction, WriteStream } from 'node:tty'
import type { Host, Interruption } from '../../cli/shared/host.ts'
import { openSession, type Session } from '../../cli/shared/session.ts'

/** What a test gives to a command that runs in its process. */
export interface HostOptions {
  /** The text of standard input. */
  readonly input?: string | Uint8Array
  /** The environment variables; by default those of the test. */
  readonly environment?: NodeJS.ProcessEnv
  /** The path by which the program is called. */
  readonly programPath?: string
  /**
   * The width of a terminal that shows standard output and standard error; by default, both are no
   * terminals.
   */
  readonly columns?: number
}

/** A host in the process of a test. */
export interface TestHost extends Host {
  /** Returns what was written to standard output. */
  readonly out: () => string
  /** Returns the bytes that were written to standard output. */
  readonly outBytes: () => Buffer
  /** Returns what was written to standard error. */
  readonly err: () => string
  /** Interrupts the command. A signal also stops a server. */
  readonly interrupt: (interruption: Interruption) => void
}

/** Returns the environment of the test, without a variable that asks for colours. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _, ...environment } = process.env
  return environment
}

/**
 * Returns the environment of the test for a terminal that shows colours (Node's
 * lib/internal/tty.js, getColorDepth).
 */
export function terminalEnvironment(): NodeJS.ProcessEnv {
  const { CI: _, FORCE_COLOR: __, NO_COLOR: ___, NODE_DISABLE_COLORS: ____, ...env } = process.env
  return { ...env, TERM: 'xterm-256color' }
}

export function createHost({
  input = '',
  environment = plainEnvironment(),
  programPath = 'ridealong',
  columns,
}: HostOptions = {}): TestHost {
  const { stdout, stderr } = columns === undefined ? openPipes() : openTerminal(columns)
  const listeners = new Set<(interruption: Interruption) => void>()
  const listen: Host['onInterruption'] = (interruptions, listener) => {
    const call = (name: Interruption) => {
      if (interruptions.includes(name)) listener()
    }
    listeners.add(call)
    return () => listeners.delete(call)
  }
  return {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    environment,
    programPath,
    onInterruption: listen,
    untilStopped: async ({ close }) => {
      const signal = await new Promise<string>((resolve) => {
        listen(['SIGTERM'], () => resolve('SIGTERM'))
      })
      await close(signal)
    },
    keepHeapSmall: () => {},
    out: () => stdout.bytes().toString(),
    outBytes: stdout.bytes,
    err: () => stderr.bytes().toString(),
    interrupt: (name) => {
      for (const call of [...listeners]) call(name)
    },
  }
}

/**
 * Opens a session for a test that calls the function of a verb.
 *
 * @param said gets the sentences that the verb says
 */
export function createSession(said: string[] = []): Session & Pick<TestHost, 'out' | 'err'> {
  const host = createHost()
  const session = openSession(host)
  const say = (sentence: string) => {
    said.push(sentence)
    session.say(sentence)
  }
  return { ...session, ...host, say }
}

/** Returns streams that keep what is written. */
function openPipes() {
  const [out, err] = [createCollector(), createCollector()]
  return {
    stdout: { stream: new Writable({ write: out.write }), bytes: out.bytes },
    stderr: { stream: new Writable({ write: err.write }), bytes: err.bytes },
  }
}

/** Returns a terminal that keeps what is written to both streams. */
function openTerminal(columns: number) {
  const { write, bytes } = createCollector()
  const output = { stream: terminalStream({ columns, rows: 50 }, write), bytes }
  return { stdout: output, stderr: output }
}

type Write = (chunk: Uint8Array, encoding: unknown, done: () => void) => void

function createCollector() {
  const chunks: Uint8Array[] = []
  const write: Write = (chunk, _encoding, done) => {
    chunks.push(chunk)
    done()
  }
  return { write, bytes: () => Buffer.concat(chunks) }
}

/** Returns the output of a terminal, with the properties and methods that the command uses. */
export function terminalStream(
  size: { readonly columns: number; readonly rows: number },
  write: Write,
): WriteStream {
  const stream = new Writable({ write })
  return Object.assign(stream, {
    ...{ ...size, isTTY: true },
    clearLine: (direction: Direction) => clearLine(stream, direction),
    cursorTo: (column: number) => cursorTo(stream, column),
  }) as unknown as WriteStream
}
