import type { Side } from '../../src/runs/compare/change.ts'
import { measureRun, newComparedRun } from '../../src/runs/compare/measure-run.ts'
import type { ComparedRun } from '../../src/runs/compare/run-facts.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import type { FindRun } from '../run-sources/named-runs.ts'
import { type NamedRun, readRunNames } from '../run-sources/run-names.ts'
import { UsageError } from '../shared/errors.ts'
import { readInto } from '../shared/run-input.ts'

/** The word between two sides. A file of this name is written ./vs. */
const SEPARATOR = 'vs'

/** The most sides: each has a letter as its name. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The sides of a comparison, and whether no log of a run is missing. */
export interface ReadSides {
  readonly sides: readonly Side[]
  readonly isWhole: boolean
}

/**
 * Reads the runs of all sides. The rows of one run at a time are in memory.
 *
 * @throws UsageError with the file that cannot be read or contains no output of an observer
 */
export async function readSides(
  groups: readonly (readonly NamedRun[])[],
  descriptions: Descriptions,
  findRun: FindRun,
): Promise<ReadSides> {
  const sides: Side[] = []
  let isWhole = true
  for (const [index, group] of groups.entries()) {
    const runs: ComparedRun[] = []
    for (const named of group) {
      const { files, ...found } = await findRun(named)
      const run = newComparedRun(descriptions)
      for (const file of files) await readInto(run, file)
      runs.push(measureRun(run, named.name))
      isWhole &&= found.isWhole
    }
    sides.push({ name: LETTERS[index] ?? '', runs })
  }
  return { sides, isWhole }
}

/**
 * Returns the runs of each side. Without the separator, each run is a side.
 *
 * @throws UsageError if there are fewer than two sides, or a side has no run
 */
export function splitSides(words: readonly string[]): readonly (readonly NamedRun[])[] {
  const groups = words.includes(SEPARATOR)
    ? splitAt(words).map(readRunNames)
    : readRunNames(words).map((run) => [run])
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

function splitAt(words: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [[]]
  for (const word of words)
    if (word === SEPARATOR) groups.push([])
    else groups.at(-1)?.push(word)
  return groups
}
