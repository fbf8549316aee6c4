/** The most groups of processes that a text names. */
export const MAX_NAMED = 3

/** The texts of the first groups, and the number of processes in the other groups. */
export interface NamedGroups {
  readonly texts: readonly string[]
  readonly others: number
}

/**
 * Describes the first groups of processes.
 *
 * @param groups the processes by what they have in common; no group is empty
 * @param describe returns the text of a group, from its first process and all of them
 */
export function nameGroups<Process>(
  groups: Iterable<readonly [unknown, readonly Process[]]>,
  describe: (first: Process, all: readonly Process[], index: number) => string,
): NamedGroups {
  const lists = [...groups].map(([, all]) => all)
  const named = lists.slice(0, MAX_NAMED)
  return {
    texts: named.map((all, index) => describe((all as [Process])[0], all, index)),
    others: lists.slice(MAX_NAMED).reduce((sum, all) => sum + all.length, 0),
  }
}

/** Sorts groups by their numbers of processes, the largest first. */
export function largestFirst<Group extends readonly [unknown, readonly unknown[]]>(
  groups: Iterable<Group>,
): readonly Group[] {
  return [...groups].sort(([, a], [, b]) => b.length - a.length)
}
