import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isSplit, MAX_LINE_LENGTH, splitLines } from '../../src/lib/split-lines.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import type { Entry } from '../../src/runs/log/entry.ts'
import { readKubectlLines } from '../../src/runs/log/kubectl-lines.ts'
import { parseEntry } from '../../src/runs/log/parse.ts'
import { readLines } from '../../src/runs/log/read.ts'
import { cannotRead, UsageError } from './errors.ts'
import type { InputStream } from './host.ts'

/** A file on this machine, standard input, or a file that is stored somewhere else. */
export type InputFile = string | OpenableFile

export interface OpenableFile {
  /** Where it is, for messages; `STANDARD_INPUT` for standard input. */
  readonly name: string
  open(): Readable
}

/** The name of standard input on a command line. */
export const STANDARD_INPUT = '-'

/** Returns the file that an argument names. */
export function inputNamed(path: string, stdin: InputStream): InputFile {
  return path === STANDARD_INPUT ? { name: path, open: () => stdin } : path
}

/** Returns the name of a file for messages. */
export function nameOfInput(file: InputFile): string {
  return typeof file === 'string' ? file : file.name
}

/**
 * Yields the entries of a file: the output of collect, or the log of an observer. A file whose name
 * ends with `.gz` is decompressed.
 *
 * @throws UsageError if the file cannot be read, or has another format
 */
export async function* entriesOf(
  file: InputFile,
  descriptions: Descriptions,
): AsyncGenerator<Entry> {
  const input = openInput(file)
  const name = nameOfInput(file)
  let isEmpty = true
  const kubectl = readKubectlLines()
  try {
    const lines = splitLines(input)
    for await (const entry of readEntries(lines, kubectl.strip, sourceOf(name), descriptions)) {
      isEmpty = false
      yield entry
    }
  } catch (error) {
    cannotRead(name)(error)
  }
  if (!isEmpty) return
  const problem = kubectl.problem()
  throw new UsageError(
    problem === undefined
      ? `${name} is neither the log of an observer nor the output of collect`
      : `${name} cannot be read: ${problem}`,
  )
}

function openInput(file: InputFile): Readable {
  const [name, input] =
    typeof file === 'string' ? [file, createReadStream(file)] : [file.name, file.open()]
  // Its errors are those of the decompression, too, and are thrown where that is read.
  return name.endsWith('.gz') ? pipeline(input, createGunzip(), () => {}) : input
}

/** Returns the name under which a log is shown. */
function sourceOf(name: string): string {
  return name === STANDARD_INPUT ? 'standard input' : basename(name)
}

async function* readEntries(
  lines: AsyncIterable<string>,
  strip: (line: string) => string,
  source: string,
  descriptions: Descriptions,
): AsyncGenerator<Entry> {
  const reader = readLines({ source }, descriptions)
  let isCollected = false
  for await (const written of lines) {
    const line = strip(written)
    const entry = readEntry(line, descriptions)
    isCollected ||= entry !== undefined
    yield* entry === undefined ? reader.push(line) : [entry]
  }
  const ending = reader.end()
  const isLog = ending.some((entry) => entry.kind !== 'log' || isSaying(entry))
  if (isLog && !isCollected) yield* ending
}

/**
 * Reads a line of the output of collect; undefined if it is another line.
 *
 * @throws if the line is too long
 */
function readEntry(line: string, descriptions: Descriptions): Entry | undefined {
  if (!line.startsWith('{"kind":')) return undefined
  if (!isSplit(line)) return parseEntry(line, descriptions)
  throw new Error(`a line has more than ${MAX_LINE_LENGTH} characters`)
}

/** Reports whether a log contains timepoints or the metadata of an observer. */
function isSaying({ metadata, timepoints }: Extract<Entry, { kind: 'log' }>): boolean {
  return timepoints > 0 || Object.keys(metadata).length > 0
}
