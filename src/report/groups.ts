import type { CollectedRun } from './gather.ts'
import type { Group } from './summary.ts'
import { plus, readTotals, type Totals } from './totals.ts'
import type { Track } from './track.ts'

const natural = new Intl.Collator('en', { numeric: true }).compare

/** Returns the distinct words in natural order: numbers in them are compared by value. */
export function distinct(words: readonly string[]): string[] {
  return [...new Set(words)].sort(natural)
}

/** Returns the tracks sorted by rank, program and process id. */
export function ordered(
  tracks: readonly Track[],
  rankOf: (source: string) => string,
): readonly Track[] {
  const keyed = tracks.map((track) => ({ track, rank: rankOf(track.source) }))
  keyed.sort((a, b) => {
    const byName = natural(a.rank, b.rank) || natural(a.track.program, b.track.program)
    return byName || (a.track.pid ?? 0) - (b.track.pid ?? 0)
  })
  return keyed.map(({ track }) => track)
}

interface Growing {
  readonly rank: string
  readonly program: string
  readonly tracks: Track[]
  totals: Totals | undefined
}

/**
 * Groups the processes by rank and program. Programs that appear only in the summary of an observer
 * have a group without processes.
 */
export function groupTracks(
  run: CollectedRun,
  rankOf: (source: string) => string,
): readonly Group[] {
  const groups = new Map<string, Growing>()
  const group = (rank: string, program: string): Growing => {
    const key = JSON.stringify([rank, program])
    const made = groups.get(key) ?? { rank, program, tracks: [], totals: undefined }
    groups.set(key, made)
    return made
  }
  for (const track of run.processes.values())
    group(rankOf(track.source), track.program).tracks.push(track)
  for (const [source, { log }] of run.sources) {
    for (const [program, totals] of readTotals(log?.summary ?? [])) {
      const own = group(rankOf(source), program)
      own.totals = own.totals === undefined ? totals : plus(own.totals, totals)
    }
  }
  return [...groups.values()].sort((a, b) => {
    return natural(a.rank, b.rank) || natural(a.program, b.program)
  })
}
