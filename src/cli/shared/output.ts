import { styleText } from 'node:util'
import type { OutputConfiguration } from 'commander'
import { printable, printableBlock } from '../../core/text/printable.ts'
import type { Output } from '../../lib/output-format.ts'
import { formatText } from './table.ts'

// Every verb writes through this module. Most output quotes a cluster, a log or a file, and a
// terminal must not interpret control characters from these. A test checks that no other module
// writes.

/** Prints the result of a verb to standard output. */
export function print(output: Output): void {
  process.stdout.write(textOf(output))
}

/** Prints one line of a result that a verb prints line by line, on standard output. */
export function printLine(line: string): void {
  print({ lines: [line] })
}

/** Prints one line to standard error that is not part of the result: progress or a problem. */
export function say(sentence: string): void {
  process.stderr.write(`ridealong: ${printable(sentence)}\n`)
}

/** Prints a line to standard error without the name of the program. */
export function note(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}

/**
 * Returns a document unchanged or, for a terminal, printable. `ls` and `git` do the same: a program
 * needs every byte, but a terminal would interpret control characters.
 */
export function documentFor(stream: object, text: string): string {
  return 'isTTY' in stream && stream.isTTY === true ? printableBlock(text) : text
}

/** The maximum width of help, in columns. */
const HELP_WIDTH = 80

/** Configures the output of Commander. Help is our own text, but errors quote the command line. */
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

/** Colours a line of a diff on a terminal only: styleText checks standard output and NO_COLOR. */
function coloured(line: string): string {
  if (line.startsWith('+')) return styleText('green', line)
  return line.startsWith('-') ? styleText('red', line) : line
}
