import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import manifest from '../../../package.json' with { type: 'json' }
import { splitLines } from '../../../src/lib/split-lines.ts'
import { PAGE_FILE, ROWS_FILE } from '../../../src/runs/archive/rows-path.ts'
import { describeObserver } from '../../../src/runs/collect/gather.ts'
import { type RunningObserver, sourceName } from '../../../src/runs/collect/observers.ts'
import { type FilePart, startParquet } from '../../../src/runs/convert/parquet.ts'
import type { Descriptions } from '../../../src/runs/log/descriptions.ts'
import { type Entry, isSample } from '../../../src/runs/log/entry.ts'
import { parseEntry } from '../../../src/runs/log/parse.ts'
import { readLines } from '../../../src/runs/log/read.ts'
import { transcribeGone, withStatus } from '../../../src/runs/log/transcribe.ts'
import { jsonLines } from '../../../src/runs/log/write.ts'
import { reportModel } from '../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../src/runs/report/gather.ts'
import { buildRunPage } from '../../shared/page/run-page.ts'
import { type VolumeFile, type VolumeFiles, writeWhole } from './volume-files.ts'

/** The kept text of an observer's log, and the last state of the observer. */
export interface LogToWrite {
  /** The path of the text. There is no such file if nothing was read. */
  readonly file: string
  readonly observer: RunningObserver
}

/** A folder to write, which is not below its final name yet. */
export interface RunToWrite {
  readonly folder: string
  readonly logs: readonly LogToWrite[]
  /** The title of the page. */
  readonly title: string
}

/** The rows that were written. */
export interface WrittenRows {
  readonly rows: number
  /** The number of logs with rows. */
  readonly logs: number
  /** Why rows are missing: whole sentences. */
  readonly missing: readonly string[]
}

/**
 * Writes the rows of a run as Parquet, a file for each section of a metric, and as JSON Lines,
 * while the logs are read.
 *
 * @throws an error of the system
 */
export async function writeRows(
  files: VolumeFiles,
  { folder, logs }: RunToWrite,
  descriptions: Descriptions,
): Promise<WrittenRows> {
  const run = startParquet(descriptions, `ridealong ${manifest.version}`)
  const output = startOutput(files, folder)
  const text = startText()
  const add = async (entry: Entry) => output.add([...run.push(entry), ...text.push(entry)])
  try {
    const found: LogRows[] = []
    for (const log of logs) {
      const added = await addLog(entriesOf(log, descriptions), add)
      found.push(added.rows === 0 ? explainNoRows(log, added) : added)
    }
    const { parts, notices } = run.end()
    await output.add([...parts, ...text.end()])
    await output.sync()
    return {
      rows: found.reduce((sum, { rows }) => sum + rows, 0),
      logs: found.filter(({ rows }) => rows > 0).length,
      missing: [...found.flatMap(({ missing }) => missing), ...notices],
    }
  } finally {
    await output.close()
  }
}

/** The length of a part of the text that is compressed, in UTF-16 code units. */
const PART_LENGTH = 1 << 20

/**
 * Writes all entries as JSON Lines, from which commands read the run again: Parquet has only its
 * rows. Each part is a gzip file, and several in a row are one, too (RFC 1952, section 2.2).
 */
function startText() {
  let part = ''
  const end = (): readonly FilePart[] => {
    const bytes = gzipSync(part)
    part = ''
    return [{ file: ROWS_FILE, bytes }]
  }
  return {
    end,
    push(entry: Entry): readonly FilePart[] {
      part += jsonLines([entry])
      return part.length < PART_LENGTH ? [] : end()
    },
  }
}

interface LogRows {
  readonly rows: number
  readonly missing: readonly string[]
}

async function addLog(
  entries: AsyncIterable<Entry>,
  add: (entry: Entry) => Promise<void>,
): Promise<LogRows> {
  let rows = 0
  const missing: string[] = []
  for await (const entry of entries) {
    if (isSample(entry)) rows += 1
    if (entry.kind === 'log') missing.push(...entry.cuts.map((cut) => `${entry.source}: ${cut}`))
    await add(entry)
  }
  return { rows, missing }
}

/** A whole log can have no rows, such as that of an observer whose container ended at once. */
function explainNoRows({ observer }: LogToWrite, { rows, missing }: LogRows): LogRows {
  const why = `${sourceName(observer)}: the log has no rows`
  return { rows, missing: missing.length > 0 ? missing : [why] }
}

/**
 * Writes the page of the report.
 *
 * @throws an error of the system
 */
export async function writePage(
  files: VolumeFiles,
  { folder, logs, title }: RunToWrite,
  descriptions: Descriptions,
): Promise<void> {
  const run = newRun(descriptions)
  for (const log of logs)
    for await (const entry of entriesOf(log, descriptions)) addEntry(run, entry)
  const names = `${logs.length} ${logs.length === 1 ? 'log' : 'logs'} of the archive`
  const page = await buildRunPage(reportModel(run, 'auto'), title, names)
  await writeWhole(files, join(folder, PAGE_FILE), page)
}

/** Yields the entries of a log. Without its text, the summary of the observer is the only one. */
async function* entriesOf(
  { file, observer }: LogToWrite,
  descriptions: Descriptions,
): AsyncGenerator<Entry> {
  const known = describeObserver(observer)
  if (!existsSync(file)) {
    const line = transcribeGone('jsonl', known, descriptions, observer.message).trim()
    const entry = parseEntry(line, descriptions)
    if (entry !== undefined) yield entry
    return
  }
  const reader = readLines(known, descriptions)
  for await (const line of splitLines(createReadStream(file))) yield* reader.push(line)
  const status = { ...observer, observedPods: null, time: null }
  for (const entry of reader.end()) yield withStatus(entry, status)
}

interface Output {
  add(parts: readonly FilePart[]): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

function startOutput(files: VolumeFiles, folder: string): Output {
  const open = new Map<string, VolumeFile>()
  return {
    async add(parts) {
      for (const { file, bytes } of parts) {
        const output = open.get(file) ?? (await files.create(join(folder, file)))
        open.set(file, output)
        await output.append(bytes)
      }
    },
    async sync() {
      for (const output of open.values()) await output.sync()
    },
    async close() {
      for (const output of open.values()) await output.close().catch(() => {})
    },
  }
}
