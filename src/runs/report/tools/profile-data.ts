import { rounded } from '../../../lib/round.ts'
import { findDifferences } from '../../profiles/differences.ts'
import { separateHelpers } from '../../profiles/helper-processes.ts'
import { findHotFunction, type HotFunction } from '../../profiles/hot-function.ts'
import { type ProfileByPod, profileByPod } from '../../profiles/profile-by-pod.ts'
import type { ProfileKind, ProfileRun, ProgramProfile } from '../../profiles/profile-run.ts'
import { distinct } from '../groups.ts'
import { type FlameData, flameData } from './flame-data.ts'
import { type FunctionData, functionData } from './function-data.ts'

/** The profiles of one program: its flame graph, and its functions. */
export interface ProfileData {
  readonly program: string
  readonly kind: ProfileKind
  /** The pods with a profile of the program, in natural order. */
  readonly pods: readonly string[]
  /** The time of all pods, in seconds. */
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

/** A function in which pods used more time than the others. All times are in seconds. */
export interface DifferenceData {
  readonly name: string
  readonly library: string | null
  readonly median: number
  readonly compared: number
  /** The pods with the most additional time, the one with the most first. */
  readonly pods: readonly { readonly pod: string; readonly self: number; readonly more: number }[]
  /** The number of pods of `pods`, and of those that are left out. */
  readonly podCount: number
}

/** The most programs whose profiles the page shows. */
const MAX_PROGRAMS = 20
/** The most differences and pods of a difference that the page shows. */
const MAX_DIFFERENCES = 50
const MAX_PODS = 20
const MAX_INCOMPLETE = 10

/** The profiles of the programs with the most processor time, the one with the most first. */
export interface ProfilesData {
  readonly programs: readonly ProfileData[]
  /** The number of programs that are left out. */
  readonly omitted: number
  /** The function with a large part of the time; null if there is none. */
  readonly hot: HotFunction | null
}

/** Builds the profiles of the page; undefined if no process was profiled. */
export function profilesData(
  run: ProfileRun,
  podOf: (source: string) => string,
): ProfilesData | undefined {
  const separated = separateHelpers(run)
  const all = separated
    .map((profile) => ({ profile, byPods: profileByPod(profile, podOf) }))
    .filter(({ byPods }) => totalOf(byPods) > 0)
    .sort((a, b) => totalOf(b.byPods) - totalOf(a.byPods))
  if (all.length === 0) return undefined
  const shown = all.slice(0, MAX_PROGRAMS)
  const programs = shown.map(({ profile, byPods }) =>
    profileData(profile, byPods, podOf, shown.length),
  )
  return { programs, omitted: all.length - shown.length, hot: findHotFunction(separated) }
}

/** @param share the number of programs that share the room of the page */
function profileData(
  profile: ProgramProfile,
  byPods: ProfileByPod,
  podOf: (source: string) => string,
  share: number,
): ProfileData {
  const pods = distinct(byPods.pods)
  const differences = findDifferences(byPods)
  const differing = differences.flatMap((one) => one.pods.map(({ pod }) => pod))
  const incomplete = byPods.incomplete.flatMap((list, index) =>
    list.map((words) => `${byPods.pods[index]}: ${words}`),
  )
  return {
    program: profile.program,
    kind: profile.kind,
    pods,
    seconds: rounded(totalOf(byPods)),
    flame: flameData(profile, [...new Set([...differing, ...pods])], podOf, share),
    functions: functionData(byPods, pods, differences, share),
    differences: differences.slice(0, MAX_DIFFERENCES).map((difference) => ({
      ...difference,
      median: rounded(difference.median),
      podCount: difference.pods.length,
      pods: difference.pods.slice(0, MAX_PODS).map(({ pod, self, more }) => {
        return { pod, self: rounded(self), more: rounded(more) }
      }),
    })),
    omittedDifferences: Math.max(differences.length - MAX_DIFFERENCES, 0),
    incomplete: incomplete.slice(0, MAX_INCOMPLETE),
    incompleteCount: incomplete.length,
  }
}

function totalOf({ seconds }: ProfileByPod): number {
  return seconds.reduce((sum, own) => sum + own, 0)
}
