import { type Block, readBlocks } from './blocks.ts'
import type { Entry } from './entry.ts'
import type { KnownOrigin } from './metadata.ts'
import { startRun } from './run.ts'

export interface LogReader {
  /** Takes a line of the log, without its end; answers with the samples that are now whole. */
  readonly push: (line: string) => readonly Entry[]
  /** Takes the end of the log; answers with what was left, and with what is to be said of it all. */
  readonly end: () => readonly Entry[]
}

/**
 * Reads the log of an observer, line by line, holding one timepoint in memory. A text with several
 * runs, of a container that was restarted or of files put together, gives one log for each.
 */
export function readLines(known: KnownOrigin): LogReader {
  const blocks = readBlocks()
  let runs = 1
  let run = startRun(known)
  const take = (block: Block): readonly Entry[] => {
    if (block.kind !== 'metadata' || !run.isBegun()) return run.take(block)
    const before = run.end()
    runs += 1
    run = startRun({ ...known, source: `${known.source}#${runs}` })
    return [before, ...run.take(block)]
  }
  return {
    push: (line) => blocks.push(line).flatMap(take),
    end: () => [...blocks.end().flatMap(take), run.end()],
  }
}

/** Reads the whole text of a log. */
export function readLog(text: string, known: KnownOrigin): readonly Entry[] {
  const reader = readLines(known)
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
  return [...lines.flatMap((line) => [...reader.push(line)]), ...reader.end()]
}
