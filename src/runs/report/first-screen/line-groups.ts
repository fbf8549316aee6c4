import type { ActivityLine, Percent } from './activity-data.ts'

/** A rank or a process of MPI, and what it did over time. */
export interface Actor {
  /** The rank that reports show. */
  readonly rank: string
  /** The rank, or the rank in MPI_COMM_WORLD. */
  readonly label: string
  readonly percents: ActivityLine['percents']
}

/** Up to this number of ranks, each has a line. */
const MAX_SINGLE = 64
/** With more ranks, the most that findings name and that keep a line of their own. */
const MAX_NAMED = 8

/**
 * Returns a line for each rank. More than 64 ranks are grouped by their order, because a screen has
 * no room for thousands of lines. A line of a group is the mean of its ranks. The first ranks that
 * findings name have lines of their own, before the groups, which contain them too.
 *
 * @param word the word for one of them, `rank` or `MPI rank`
 */
export function groupLines(
  actors: readonly Actor[],
  named: readonly string[],
  word: string,
): readonly ActivityLine[] {
  const single = ({ label, percents }: Actor): ActivityLine => ({
    name: /^\d/.test(label) ? `${word} ${label}` : label,
    count: 1,
    percents,
  })
  if (actors.length <= MAX_SINGLE) return actors.map(single)
  const byRank = Map.groupBy(actors, ({ rank }) => rank)
  const worst = named.flatMap((rank) => byRank.get(rank) ?? []).slice(0, MAX_NAMED)
  const size = Math.ceil(actors.length / (MAX_SINGLE - MAX_NAMED))
  const groups = Array.from({ length: Math.ceil(actors.length / size) }, (_, index) =>
    actors.slice(index * size, (index + 1) * size),
  )
  return [...worst.map(single), ...groups.map((own) => groupLine(own, word))]
}

function groupLine(own: readonly Actor[], word: string): ActivityLine {
  const [first, last] = [own[0]?.label, own.at(-1)?.label]
  const name = own.length === 1 ? `${word} ${first}` : `${word}s ${first} to ${last}`
  const states = own[0]?.percents ?? []
  return {
    name,
    count: own.length,
    percents: states.map((buckets, state) =>
      buckets.map((_, bucket) =>
        meanOf(own.map(({ percents }) => percents[state]?.[bucket] ?? null)),
      ),
    ),
  }
}

function meanOf(percents: readonly Percent[]): Percent {
  const known = percents.filter((percent) => percent !== null)
  if (known.length === 0) return null
  return Math.round(known.reduce((sum, percent) => sum + percent, 0) / known.length)
}
