import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { describeDifferentRuns } from '../../src/runs/input/different-runs.ts'
import { joinLogs } from '../../src/runs/input/join-logs.ts'
import { readAttempt } from '../../src/runs/log/attempt.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import type { Entry } from '../../src/runs/log/entry.ts'
import { addEntry, type CollectedRun } from '../../src/runs/report/gather.ts'
import { readEarlier } from '../../src/runs/report/programs/earlier-attempts.ts'
import { cannotRead, UsageError } from '../shared/errors.ts'
import { entriesOf, type InputFile, nameOfInput } from '../shared/run-input.ts'

/** The files of a run. */
export interface RunInput {
  readonly files: readonly InputFile[]
  /** Whether the files are known to be of one run, such as those that an archive has stored. */
  readonly isOneRun: boolean
}

type Say = (sentence: string) => void

/** Adds the entries of the files of a run. @throws see `entriesOfRun` */
export async function readInto(run: CollectedRun, input: RunInput, say: Say): Promise<void> {
  const onOther = readEarlier(run)
  for await (const entry of entriesOfRun(input, run.descriptions, say, onOther))
    addEntry(run, entry)
}

/**
 * Yields the entries of the files of a run. A file that is there twice is read once, and a row that
 * several files have is yielded once.
 *
 * @param say says which files and logs are there more than once
 * @param onOther is called with the entries of other attempts of a container, and their file
 * @throws UsageError if a file cannot be read, or has another format; after the last entry, if the
 * files are of several runs
 */
export async function* entriesOfRun(
  { files, isOneRun }: RunInput,
  descriptions: Descriptions,
  say: Say,
  onOther: (file: string, entry: Entry) => void = () => {},
): AsyncGenerator<Entry> {
  let name = ''
  const join = joinLogs((entry) => onOther(name, entry))
  for (const file of await leaveOutCopies(lastAttemptsFirst(files), say)) {
    name = nameOfInput(file)
    join.begin(name)
    for await (const read of entriesOf(file, descriptions)) {
      const entry = join.push(read)
      if (entry !== undefined) yield entry
    }
  }
  join.notices().forEach(say)
  const problem = isOneRun ? undefined : describeDifferentRuns(join.logs())
  if (problem === undefined) return
  throw new UsageError(`${problem}. Name the logs of one run; compare shows several side by side`)
}

/** Sorts files so that those of earlier attempts follow those of the last ones, which count. */
function lastAttemptsFirst(files: readonly InputFile[]): readonly InputFile[] {
  const attemptOf = (file: InputFile) => readAttempt(nameOfInput(file))?.attempt ?? Infinity
  return files.toSorted((one, other) => {
    const [before, after] = [attemptOf(one), attemptOf(other)]
    return before === after ? 0 : after - before
  })
}

/** Leaves out files that are there twice, by their names or by their content. */
async function leaveOutCopies(
  files: readonly InputFile[],
  say: Say,
): Promise<readonly InputFile[]> {
  const sizes = Map.groupBy(files, sizeOf)
  const chosen: InputFile[] = []
  const known = new Map<string, string>()
  for (const file of files) {
    const name = nameOfInput(file)
    const size = sizeOf(file)
    const isAlone = size === undefined || sizes.get(size)?.length === 1
    const content = isAlone ? name : await hashOf(name)
    const before = known.get(content)
    if (before === undefined) chosen.push(file)
    else say(describeCopy(name, before))
    known.set(content, before ?? name)
  }
  return chosen
}

/** Returns the size of a file; undefined if it is none, such as a pipe, or cannot be read. */
function sizeOf(file: InputFile): number | undefined {
  if (typeof file !== 'string') return undefined
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() === true ? found.size : undefined
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash).catch(cannotRead(path))
  return hash.digest('hex')
}

function describeCopy(name: string, before: string): string {
  return name === before
    ? `${name} is named more than once: it is read once`
    : `${name} has the same content as ${before}: it is left out`
}
