import { once } from 'node:events'
import { styleText } from 'node:util'
import type { OutputConfiguration } from 'commander'
import { printable, printableBlock } from '../../src/core/text/printable.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { UsageError } from './errors.ts'
import { formatText } from './table.ts'

// Every verb writes to the terminal through this module, except for the progress bar (progress.ts).
// Most output quotes a cluster, a log or a file, and the terminal must not interpret control
// characters in quoted text. A test checks that no other module writes to the terminal.

/** Prints the result of a verb to standard output. */
export function print(output: Output): void {
  process.stdout.write(textOf(output))
}

/**
 * Prints a large document to standard output. Each part is made when those before it are written. A
 * part that is not text is printed byte for byte, but not to a terminal.
 */
export async function printDocument(parts: Iterable<string | Uint8Array>): Promise<void> {
  for (const part of parts) {
    const isText = typeof part === 'string'
    if (!isText && process.stdout.isTTY)
      throw new UsageError(
        'the output is not text, and standard output is a terminal: use --to FILE',
      )
    const isTaken = process.stdout.write(isText ? textOf({ document: part }) : part)
    if (!isTaken) await once(process.stdout, 'drain')
  }
}

const STANDARD_OUTPUT = /^(-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/

/** Returns the file or folder that the user has named; undefined for standard output. */
export function namedFile(path: string | undefined): string | undefined {
  return path === undefined || STANDARD_OUTPUT.test(path) ? undefined : path
}

/** Prints one line of a result to standard output. */
export function printLine(line: string): void {
  print({ lines: [line] })
}

/** Prints one line to standard error: progress or a problem, which is not part of the result. */
export function say(sentence: string): void {
  process.stderr.write(`ridealong: ${printable(sentence)}\n`)
}

/** Prints a line to standard error without the name of the program. */
export function note(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}

/**
 * Escapes the control characters of a document if the stream is a terminal, which would interpret
 * them. Otherwise, the document is unchanged, because a program needs every byte. `ls` and `git` do
 * the same.
 */
export function documentFor(stream: object, text: string): string {
  return 'isTTY' in stream && stream.isTTY === true ? printableBlock(text) : text
}

/** The maximum width of help, in columns. */
const HELP_WIDTH = 80

/** Configures the output of Commander. Errors quote the command line and are therefore escaped. */
export const outputOfCommander: OutputConfiguration = {
  getOutHelpWidth: () => Math.min(process.stdout.columns || HELP_WIDTH, HELP_WIDTH),
  getErrHelpWidth: () => Math.min(process.stderr.columns || HELP_WIDTH, HELP_WIDTH),
  outputError: (text, write) => {
    const [, error = '', hint = ''] = /^(.*?)(\n\(Did you mean [^\n]*\?\))?\n$/s.exec(text) ?? [
      '',
      text,
    ]
    write(`${printable(error)}${printableBlock(hint)}\n`)
  },
}

function textOf(output: Output): string {
  if ('document' in output) return documentFor(process.stdout, output.document)
  if ('lines' in output) return output.lines.map((line) => `${printable(line)}\n`).join('')
  if ('text' in output) return `${formatText(output.text, process.stdout.columns).join('\n')}\n`
  return output.diff
    .map((line) => `${coloured(printable(line, Number.POSITIVE_INFINITY))}\n`)
    .join('')
}

/** Colours a line of a diff. styleText adds colours only on a terminal, unless NO_COLOR is set. */
function coloured(line: string): string {
  if (line.startsWith('+')) return styleText('green', line)
  return line.startsWith('-') ? styleText('red', line) : line
}
