import { rounded } from '../../../lib/round.ts'
import { findDifferences } from '../../profiles/differences.ts'
import { separateHelpers } from '../../profiles/helper-processes.ts'
import type { ProfileKind, ProfileRun, ProgramProfile } from '../../profiles/profile-run.ts'
import { type RankedProfile, rankProfile } from '../../profiles/ranked-profile.ts'
import { distinct } from '../groups.ts'
import { type FlameData, flameData } from './flame-data.ts'
import { type FunctionData, functionData } from './function-data.ts'

/** The profiles of one program: its flame graph, and its functions. */
export interface ProfileData {
  readonly program: string
  readonly kind: ProfileKind
  /** The ranks with a profile of the program, in natural order. */
  readonly ranks: readonly string[]
  /** The time of all ranks, in seconds. */
  readonly seconds: number
  readonly flame: FlameData
  readonly functions: FunctionData
  readonly differences: readonly DifferenceData[]
  /** The number of functions with a difference that are left out. */
  readonly omittedDifferences: number
  /** The first processes whose profile is incomplete or missing, and the number of all. */
  readonly incomplete: readonly string[]
  readonly incompleteCount: number
}

/** A function in which ranks used more time than the others. All times are in seconds. */
export interface DifferenceData {
  readonly name: string
  readonly library: string | null
  readonly median: number
  readonly compared: number
  /** The ranks with the most additional time, the one with the most first. */
  readonly ranks: readonly { readonly rank: string; readonly self: number; readonly more: number }[]
  /** The number of ranks of `ranks`, and of those that are left out. */
  readonly rankCount: number
}

/** The most programs whose profiles the page shows. */
const MAX_PROGRAMS = 20
/** The most differences and ranks of a difference that the page shows. */
const MAX_DIFFERENCES = 50
const MAX_RANKS = 20
const MAX_INCOMPLETE = 10

/** The profiles of the programs with the most processor time, the one with the most first. */
export interface ProfilesData {
  readonly programs: readonly ProfileData[]
  /** The number of programs that are left out. */
  readonly omitted: number
}

/** Builds the profiles of the page; undefined if no process was profiled. */
export function profilesData(
  run: ProfileRun,
  rankOf: (source: string) => string,
): ProfilesData | undefined {
  const all = separateHelpers(run)
    .map((profile) => ({ profile, ranked: rankProfile(profile, rankOf) }))
    .filter(({ ranked }) => totalOf(ranked) > 0)
    .sort((a, b) => totalOf(b.ranked) - totalOf(a.ranked))
  if (all.length === 0) return undefined
  const shown = all.slice(0, MAX_PROGRAMS)
  const programs = shown.map(({ profile, ranked }) =>
    profileData(profile, ranked, rankOf, shown.length),
  )
  return { programs, omitted: all.length - shown.length }
}

/** @param share the number of programs that share the room of the page */
function profileData(
  profile: ProgramProfile,
  ranked: RankedProfile,
  rankOf: (source: string) => string,
  share: number,
): ProfileData {
  const ranks = distinct(ranked.ranks)
  const differences = findDifferences(ranked)
  const differing = differences.flatMap((one) => one.ranks.map(({ rank }) => rank))
  const incomplete = ranked.incomplete.flatMap((list, index) =>
    list.map((words) => `${ranked.ranks[index]}: ${words}`),
  )
  return {
    program: profile.program,
    kind: profile.kind,
    ranks,
    seconds: rounded(totalOf(ranked)),
    flame: flameData(profile, [...new Set([...differing, ...ranks])], rankOf, share),
    functions: functionData(ranked, ranks, differences, share),
    differences: differences.slice(0, MAX_DIFFERENCES).map((difference) => ({
      ...difference,
      median: rounded(difference.median),
      rankCount: difference.ranks.length,
      ranks: difference.ranks.slice(0, MAX_RANKS).map(({ rank, self, more }) => {
        return { rank, self: rounded(self), more: rounded(more) }
      }),
    })),
    omittedDifferences: Math.max(differences.length - MAX_DIFFERENCES, 0),
    incomplete: incomplete.slice(0, MAX_INCOMPLETE),
    incompleteCount: incomplete.length,
  }
}

function totalOf({ seconds }: RankedProfile): number {
  return seconds.reduce((sum, own) => sum + own, 0)
}
