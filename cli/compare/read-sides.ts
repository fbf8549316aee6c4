import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Side } from '../../src/runs/compare/change.ts'
import { measureRun, newComparedRun } from '../../src/runs/compare/measure-run.ts'
import type { ComparedRun } from '../../src/runs/compare/run-facts.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import { findRunFiles, type RowsOptions } from '../archive/storage/stored-run-files.ts'
import { cannotRead, UsageError } from '../shared/errors.ts'
import { type InputFile, readInto } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'

/** The word between two sides. A file of this name is written ./vs. */
const SEPARATOR = 'vs'

/** The files that `collect` or the archive writes into a folder, except hidden files. */
const LOG = /^[^.].*\.(jsonl|log)(\.gz)?$/

/** The most sides: each has a letter as its name. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/**
 * Reads the runs of all sides. Each path is a run. The rows of one run at a time are in memory.
 *
 * @throws UsageError if there are fewer than two sides, if a side has no run, or with the file that
 * cannot be read or contains no output of an observer
 */
export async function readSides(
  paths: readonly string[],
  descriptions: Descriptions,
  rows: RowsOptions,
  session: Session,
): Promise<readonly Side[]> {
  const groups = splitSides(paths)
  const sides: Side[] = []
  for (const [index, group] of groups.entries()) {
    const runs: ComparedRun[] = []
    for (const path of group) runs.push(await readRun(path, descriptions, rows, session))
    sides.push({ name: LETTERS[index] ?? '', runs })
  }
  return sides
}

/** Returns the paths of each side. Without the separator, each path is a side. */
function splitSides(paths: readonly string[]): readonly (readonly string[])[] {
  const groups = paths.includes(SEPARATOR) ? splitAt(paths) : paths.map((path) => [path])
  if (groups.some((group) => group.length === 0))
    throw new UsageError(`a side has no run: name runs before and after each "${SEPARATOR}"`)
  if (groups.length < 2)
    throw new UsageError(
      'there is only one run: name at least two, such as before.jsonl after.jsonl',
    )
  if (groups.length > LETTERS.length)
    throw new UsageError(
      `there are ${groups.length} sides, and at most ${LETTERS.length} are compared; ` +
        `to compare repeated runs, separate the sides: run... ${SEPARATOR} run...`,
    )
  return groups
}

function splitAt(paths: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [[]]
  for (const path of paths)
    if (path === SEPARATOR) groups.push([])
    else groups.at(-1)?.push(path)
  return groups
}

async function readRun(
  input: string,
  descriptions: Descriptions,
  rows: RowsOptions,
  session: Session,
): Promise<ComparedRun> {
  const run = newComparedRun(descriptions)
  for (const path of await findRunFiles(input, rows, session))
    for (const file of await filesAt(path)) await readInto(run, file)
  return measureRun(run, input)
}

/** Returns a file, or the logs in a folder in the order of their names. */
async function filesAt(path: InputFile): Promise<readonly InputFile[]> {
  if (typeof path !== 'string') return [path]
  const found = await stat(path).catch(cannotRead(path))
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path).catch(cannotRead(path)))
    .filter((name) => LOG.test(name))
    .sort()
  if (names.length > 0) return names.map((name) => join(path, name))
  throw new UsageError(
    `${path} has no logs: the folder of a run has files such as POD.CONTAINER.jsonl`,
  )
}
