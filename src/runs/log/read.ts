import { type Block, readBlocks } from './blocks.ts'
import type { Descriptions } from './descriptions.ts'
import type { Entry } from './entry.ts'
import type { KnownOrigin } from './metadata.ts'
import { startRun } from './run.ts'

export interface LogReader {
  /**
   * Reads a line of the log without its line break and returns the entries that are now complete.
   */
  readonly push: (line: string) => readonly Entry[]
  /**
   * Handles the end of the log and returns the remaining entries. The last entry describes the log.
   */
  readonly end: () => readonly Entry[]
}

/** The most runs of a text; a report of ten thousand pods can be made of one file. */
const MAX_RUNS = 10_000

/**
 * Reads the log of an observer, line by line, and keeps at most one timepoint in memory. A text
 * with several runs, from a restarted container or from concatenated files, is read as one log per
 * run. Runs after the ten thousandth are left out, which is a cut of the last log.
 *
 * @param descriptions the descriptions of the rows of each metric
 */
export function readLines(
  known: KnownOrigin,
  descriptions: Descriptions,
  mostRuns = MAX_RUNS,
): LogReader {
  const blocks = readBlocks()
  let runs = 1
  let run = startRun(known, descriptions)
  const take = (block: Block): readonly Entry[] => {
    const isNew = block.kind === 'metadata' && run.isBegun()
    if (isNew) runs += 1
    if (runs > mostRuns) return []
    if (!isNew) return run.take(block)
    const before = run.end()
    run = startRun({ ...known, source: `${known.source}#${runs}` }, descriptions)
    return [...before, ...run.take(block)]
  }
  return {
    push: (line) => blocks.push(line).flatMap(take),
    end: () => [...blocks.end().flatMap(take), ...run.end(Math.max(runs - mostRuns, 0))],
  }
}

/** Reads the complete text of a log. */
export function readLog(
  text: string,
  known: KnownOrigin,
  descriptions: Descriptions,
): readonly Entry[] {
  const reader = readLines(known, descriptions)
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
  return [...lines.flatMap((line) => [...reader.push(line)]), ...reader.end()]
}
