import { styleText } from 'node:util'
import type { OutputConfiguration } from 'commander'
import { printable, printableBlock } from '../../core/text/printable.ts'
import type { Output } from '../../lib/output-format.ts'

// Every verb writes through this module, since most of what a verb says quotes a cluster, a log or a file:
// a person's terminal must not obey those. A test looks for writes that go around it.

/** Prints the result of a verb on standard output. */
export function print(output: Output): void {
  process.stdout.write(textOf(output))
}

/** Prints one line of a result that a verb prints line by line, on standard output. */
export function printLine(line: string): void {
  print({ lines: [line] })
}

/** Says on standard error, in one line, what is not the result: progress, and what is wrong. */
export function say(sentence: string): void {
  process.stderr.write(`ridealong: ${printable(sentence)}\n`)
}

/** Says a line on standard error that is a part of the verb's own talk, without the name of the program. */
export function note(line: string): void {
  process.stderr.write(`${printable(line)}\n`)
}

/**
 * A document as a stream gets it: byte for byte, or printable where the stream is a terminal. So do
 * `ls` and `git`: a program needs every byte, and a terminal would obey some.
 */
export function documentFor(stream: object, text: string): string {
  return 'isTTY' in stream && stream.isTTY === true ? printableBlock(text) : text
}

/** How Commander writes help, which is our own text, and errors, which quote the command line. */
export const outputOfCommander: OutputConfiguration = {
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
  return output.diff
    .map((line) => `${coloured(printable(line, Number.POSITIVE_INFINITY))}\n`)
    .join('')
}

/** Colours on a terminal alone: styleText looks at standard output and at NO_COLOR. */
function coloured(line: string): string {
  if (line.startsWith('+')) return styleText('green', line)
  return line.startsWith('-') ? styleText('red', line) : line
}
