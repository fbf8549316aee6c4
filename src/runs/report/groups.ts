import type { CollectedRun } from './gather.ts'
import { chooseObserver } from './programs/chosen-observers.ts'
import type { LogFacts } from './programs/log-facts.ts'
import { measurePrograms } from './programs/measurements.ts'
import { chooseTotals, type NumberSource, type ProgramTotals } from './programs/program-totals.ts'
import { REPORTED_TOTALS } from './programs/quantities.ts'
import type { Group } from './summary.ts'
import type { Track } from './track.ts'

const natural = new Intl.Collator('en', { numeric: true }).compare

/** Returns the distinct words in natural order: numbers in them are compared by value. */
export function distinct(words: readonly string[]): string[] {
  return [...new Set(words)].sort(natural)
}

/** Returns the tracks sorted by pod, program and process id. */
export function ordered(
  tracks: readonly Track[],
  podOf: (source: string) => string,
): readonly Track[] {
  const keyed = tracks.map((track) => ({ track, pod: podOf(track.source) }))
  keyed.sort((a, b) => {
    const byName = natural(a.pod, b.pod) || natural(a.track.program, b.track.program)
    return byName || (a.track.pid ?? 0) - (b.track.pid ?? 0)
  })
  return keyed.map(({ track }) => track)
}

interface Growing {
  readonly pod: string
  readonly program: string
  tracks: readonly Track[]
  sampled: NumberSource | undefined
  totals: ProgramTotals | undefined
}

/**
 * Groups the processes by pod and program. Programs that appear only in the summary of an observer
 * have a group without processes.
 *
 * @param logs the facts about all logs, by their names
 */
export function groupTracks(
  run: CollectedRun,
  podOf: (source: string) => string,
  logs: ReadonlyMap<string, LogFacts>,
): readonly Group[] {
  const groups = new Map<string, Growing>()
  const group = (pod: string, program: string): Growing => {
    const key = JSON.stringify([pod, program])
    const none = { tracks: [], sampled: undefined, totals: undefined }
    const made = groups.get(key) ?? { pod, program, ...none }
    groups.set(key, made)
    return made
  }
  const byProgram = Map.groupBy(run.processes.values(), ({ source, program }) =>
    JSON.stringify([podOf(source), program]),
  )
  for (const tracks of byProgram.values()) {
    const [{ source, program }] = tracks as [Track]
    Object.assign(group(podOf(source), program), tracksOfOne(tracks, logs))
  }
  for (const totals of chooseTotals(measurePrograms(run, logs, REPORTED_TOTALS)))
    group(totals.pod, totals.program).totals = totals
  return [...groups.values()].sort((a, b) => {
    return natural(a.pod, b.pod) || natural(a.program, b.program)
  })
}

/** Returns the samples of a program from one observer, if several have measured it. */
function tracksOfOne(
  tracks: readonly Track[],
  logs: ReadonlyMap<string, LogFacts>,
): Pick<Growing, 'tracks' | 'sampled'> {
  const chosen = chooseObserver(tracks, logs)
  if (chosen === undefined) return { tracks: [], sampled: undefined }
  const { tracks: own, facts } = chosen.source
  return { tracks: own, sampled: { log: facts.log, metric: facts.metric, reason: chosen.reason } }
}
