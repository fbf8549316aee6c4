import type { Affected, FoundRanks } from './rule.ts'
import type { RankEvidence, RunEvidence } from './run-evidence.ts'

/** A finding about one container, process or other thing of a rank, or about the whole rank. */
export type RankFinding = Omit<Affected, 'rank'>

/** Returns the function `find` of a rule that examines each rank by itself. */
export function perRank(
  find: (rank: RankEvidence) => readonly (RankFinding | undefined)[],
): (run: RunEvidence, found: FoundRanks) => readonly Affected[] {
  return ({ ranks }) =>
    ranks.flatMap((rank) => {
      const made = find(rank).filter((one) => one !== undefined)
      return made.length === 0 ? [] : [{ rank: rank.rank, ...worstOf(made) }]
    })
}

/**
 * Joins the findings about the things of one rank. The result has the numbers of the thing that
 * lost most time, and names all things.
 */
function worstOf(findings: readonly RankFinding[]): RankFinding {
  const sorted = [...findings].sort((a, b) => (b.lost ?? 0) - (a.lost ?? 0))
  const [worst] = sorted as [RankFinding]
  return { ...worst, things: [...new Set(sorted.flatMap(({ things }) => things))] }
}
