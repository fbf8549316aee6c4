import { type FileHandle, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { createFile, findPlace } from '../../src/lib/whole-file.ts'
import { cannotWrite, WriteError } from '../../src/lib/write-error.ts'
import { formatOfFile } from '../../src/runs/convert/format-names.ts'
import { type FilePart, startParquet } from '../../src/runs/convert/parquet.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import { entriesOfRun, type RunInput } from '../run-sources/run-entries.ts'
import { UsageError, usageError } from '../shared/errors.ts'

interface ParquetTarget {
  /** The program that the files name. */
  readonly program: string
  /** The folder or file that the user has named; undefined for standard output. */
  readonly to: string | undefined
  readonly say: (sentence: string) => void
}

/**
 * Writes the rows of a run as Parquet: a folder with a file for each section, or, if the name ends
 * with `.parquet`, the file of the only section. The files have their names when all are complete.
 *
 * @returns the notices about rows that are left out
 * @throws UsageError with the file that cannot be read or written, or contains no output of an
 * observer, or if the folder exists, or the run has several sections and one file was named
 */
export async function writeParquet(
  input: RunInput,
  descriptions: Descriptions,
  { program, to, say }: ParquetTarget,
): Promise<readonly string[]> {
  if (to === undefined)
    throw new UsageError('Parquet has a file for each section of a metric: use --to FOLDER')
  const fail = (error: unknown) => Promise.reject(error).catch(cannotWrite(to)).catch(usageError)
  const place = await placeOf(to).catch(fail)
  const folder = await mkdtemp(`${place}.partial-`).catch(fail)
  const output = startOutput(folder)
  try {
    const run = startParquet(descriptions, program)
    for await (const entry of entriesOfRun(input, descriptions, say))
      await output.add(run.push(entry)).catch(fail)
    const { parts, notices } = run.end()
    await output.add(parts).catch(fail)
    const names = await output.close().catch(fail)
    mustFit(to, names)
    await move(folder, names, place, isOneFile(to)).catch(fail)
    return notices
  } finally {
    await output.close().catch(() => {})
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reports whether the user has named a file, and not a folder. */
function isOneFile(to: string): boolean {
  return formatOfFile(to) === 'parquet'
}

/** Returns the final path. A folder must not have any files, which would seem to be of the run. */
async function placeOf(to: string): Promise<string> {
  if (!isOneFile(to)) {
    const present = await readdir(to).catch(ifMissing)
    if (present.length > 0) throw new WriteError(`${to} is not empty: name a new folder`)
    return resolve(to)
  }
  const { path, isDirect } = await findPlace(to)
  if (isDirect) throw new WriteError(`${to} is not a file: name a new folder`)
  return path
}

function ifMissing(error: NodeJS.ErrnoException): readonly string[] {
  if (error.code === 'ENOENT') return []
  throw error
}

/** The files in the temporary folder. */
interface Output {
  readonly add: (parts: readonly FilePart[]) => Promise<void>
  /** Closes the files and returns their names. */
  readonly close: () => Promise<readonly string[]>
}

function startOutput(folder: string): Output {
  const handles = new Map<string, FileHandle>()
  return {
    add: async (parts) => {
      for (const { file, bytes } of parts) {
        const handle = handles.get(file) ?? (await createFile(join(folder, file)))
        handles.set(file, handle)
        await handle.appendFile(bytes)
      }
    },
    close: async () => {
      for (const handle of handles.values()) await handle.close()
      return [...handles.keys()].sort()
    },
  }
}

/** @throws UsageError if the user named one file, and the run needs several, or none */
function mustFit(to: string, names: readonly string[]): void {
  if (names.length === 0) throw new UsageError('cannot convert the run to parquet: it has no rows')
  if (!isOneFile(to) || names.length === 1) return
  const sections = names.map((name) => basename(name, '.parquet')).join(', ')
  const several = `the run has rows of ${names.length} sections (${sections})`
  throw new UsageError(`${several}, each of which is a file: use --format parquet --to FOLDER`)
}

async function move(
  folder: string,
  names: readonly string[],
  place: string,
  isFile: boolean,
): Promise<void> {
  if (!isFile) await mkdir(place, { recursive: true })
  for (const name of names) await rename(join(folder, name), isFile ? place : join(place, name))
}
