import type { Side } from '../../src/runs/compare/change.ts'
import { measureRun, newComparedRun } from '../../src/runs/compare/measure-run.ts'
import type { ComparedRun } from '../../src/runs/compare/run-facts.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import { findRunFiles, type RowsOptions } from '../archive/storage/stored-run-files.ts'
import { UsageError } from '../shared/errors.ts'
import { readInto } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'

/** The word between two sides. A file of this name is written ./vs. */
const SEPARATOR = 'vs'

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
  for (const file of await findRunFiles(input, rows, session)) await readInto(run, file)
  return measureRun(run, input)
}
