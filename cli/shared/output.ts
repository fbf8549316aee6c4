import { once } from 'node:events'
import { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { OutputConfiguration } from 'commander'
import { printable, printableBlock } from '../../src/core/text/printable.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { UsageError } from './errors.ts'
import type { Host, OutputStream } from './host.ts'
import { formatText } from './table.ts'

// Every verb writes to the terminal through this module, except for the progress bar (progress.ts).
// Most output quotes a cluster, a log or a file, and the terminal must not interpret control
// characters in quoted text. A test checks that no other module writes to the terminal.

/** The functions that print to standard output and standard error. */
export interface Printer {
  /** Prints the result of a verb to standard output. */
  readonly print: (output: Output) => void
  /**
   * Prints a large document to standard output. Each part is made when those before it are written.
   * A part that is not text is printed byte for byte, but not to a terminal.
   */
  readonly printDocument: (parts: Iterable<string | Uint8Array>) => Promise<void>
  /** Prints one line of a result to standard output. */
  readonly printLine: (line: string) => void
  /** Prints one line to standard error: progress or a problem, which is not part of the result. */
  readonly say: (sentence: string) => void
  /** Prints a line to standard error without the name of the program. */
  readonly note: (line: string) => void
}

type Outputs = Pick<Host, 'stdout' | 'stderr' | 'environment'>

/** Returns the functions that print to these streams. */
export function createPrinter(outputs: Outputs): Printer {
  const { stdout, stderr } = outputs
  const print = (output: Output) => {
    stdout.write(textOf(output, outputs))
  }
  return {
    print,
    printDocument: (parts) => writeDocument(parts, stdout),
    printLine: (line) => print({ lines: [line] }),
    say: (sentence) => {
      stderr.write(`ridealong: ${printable(sentence)}\n`)
    },
    note: (line) => {
      stderr.write(`${printable(line)}\n`)
    },
  }
}

async function writeDocument(
  parts: Iterable<string | Uint8Array>,
  stdout: OutputStream,
): Promise<void> {
  for (const part of parts) {
    const isText = typeof part === 'string'
    if (!isText && stdout.isTTY)
      throw new UsageError(
        'the output is not text, and standard output is a terminal: use --to FILE',
      )
    const isTaken = stdout.write(isText ? documentFor(stdout, part) : part)
    if (!isTaken) await once(stdout, 'drain')
  }
}

const STANDARD_OUTPUT = /^(-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/

/** Returns the file or folder that the user has named; undefined for standard output. */
export function namedFile(path: string | undefined): string | undefined {
  return path === undefined || STANDARD_OUTPUT.test(path) ? undefined : path
}

/**
 * Escapes the control characters of a document if the stream is a terminal, which would interpret
 * them. Otherwise, the document is unchanged, because a program needs every byte. `ls` and `git` do
 * the same.
 */
export function documentFor(stream: OutputStream, text: string): string {
  return stream.isTTY ? printableBlock(text) : text
}

/** Returns the width of a terminal in characters; undefined if the stream is no terminal. */
export function terminalWidth(stream: OutputStream): number | undefined {
  return stream.isTTY ? stream.columns : undefined
}

/**
 * Reports whether a stream shows colours: a terminal that can show them, unless NO_COLOR is set, or
 * any stream if FORCE_COLOR is set. The variables are those that Node knows (lib/internal/tty.js,
 * getColorDepth), in the environment of the command.
 */
export function hasColours(stream: OutputStream, environment: NodeJS.ProcessEnv): boolean {
  if (!stream.isTTY && environment.FORCE_COLOR === undefined) return false
  return WriteStream.prototype.getColorDepth(environment) > 2
}

/** The maximum width of help, in columns. */
const HELP_WIDTH = 80

/** Configures the output of Commander. Errors quote the command line and are therefore escaped. */
export function outputOfCommander({
  stdout,
  stderr,
}: Pick<Outputs, 'stdout' | 'stderr'>): OutputConfiguration {
  const widthFor = (stream: OutputStream) =>
    Math.min(terminalWidth(stream) || HELP_WIDTH, HELP_WIDTH)
  return {
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    getOutHelpWidth: () => widthFor(stdout),
    getErrHelpWidth: () => widthFor(stderr),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    outputError: (text, write) => {
      const [, error = '', hint = ''] = /^(.*?)(\n\(Did you mean [^\n]*\?\))?\n$/s.exec(text) ?? [
        '',
        text,
      ]
      write(`${printable(error)}${printableBlock(hint)}\n`)
    },
  }
}

function textOf(output: Output, { stdout, environment }: Outputs): string {
  if ('document' in output) return documentFor(stdout, output.document)
  if ('lines' in output) return output.lines.map((line) => `${printable(line)}\n`).join('')
  const isColoured = hasColours(stdout, environment)
  if ('text' in output)
    return `${formatText(output.text, { width: terminalWidth(stdout), isColoured }).join('\n')}\n`
  const lines = output.diff.map((line) => printable(line, Number.POSITIVE_INFINITY))
  return lines.map((line) => `${isColoured ? coloured(line) : line}\n`).join('')
}

/** Colours a line of a diff. */
function coloured(line: string): string {
  if (line.startsWith('+')) return styleText('green', line, ALWAYS)
  return line.startsWith('-') ? styleText('red', line, ALWAYS) : line
}

/** Whether there are colours is decided by `hasColours`. */
const ALWAYS = { validateStream: false } as const
