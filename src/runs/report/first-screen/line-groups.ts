import { rounded } from '../../../lib/round.ts'
import { computeMean, plainMean } from '../../../lib/statistics.ts'
import { type ActivityLine, type Means, type Percent, STATES } from './activity-data.ts'

/** A pod or an MPI rank, and what it did over time. */
export interface Actor {
  /** The pod, or that of the rank, as reports name it. */
  readonly pod: string
  /** The name of the pod, or the rank in MPI_COMM_WORLD. */
  readonly label: string
  readonly percents: ActivityLine['percents']
  readonly means: Means
  /** The seconds of which `means` are percents. */
  readonly seconds: number
}

/** Up to this number of pods or ranks, each has a line. */
const MAX_SINGLE = 64
/** With more of them, the most that findings name and that keep a line of their own. */
const MAX_NAMED = 8

/**
 * Returns a line for each pod or MPI rank. More than 64 are grouped by their order, because a
 * screen has no room for thousands of lines. A line of a group is the mean of its members. The
 * first that findings name have lines of their own, before the groups, which contain them too.
 *
 * @param word the word for one of them, `pod` or `MPI rank`
 */
export function groupLines(
  actors: readonly Actor[],
  named: readonly string[],
  word: string,
): readonly ActivityLine[] {
  const single = ({ label, percents, means }: Actor): ActivityLine => ({
    name: /^\d/.test(label) ? `${word} ${label}` : label,
    count: 1,
    percents,
    means,
  })
  if (actors.length <= MAX_SINGLE) return actors.map(single)
  const byPod = Map.groupBy(actors, ({ pod }) => pod)
  const worst = named.flatMap((pod) => byPod.get(pod) ?? []).slice(0, MAX_NAMED)
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
        roundedMean(own.map(({ percents }) => percents[state]?.[bucket] ?? null)),
      ),
    ),
    means: meansOf(own),
  }
}

/** Returns the means of all, weighted by their seconds, as the efficiency has them. */
export function meansOf(actors: readonly Pick<Actor, 'means' | 'seconds'>[]): Means {
  const seconds = actors.map((one) => one.seconds)
  return STATES.map((_, state) => {
    const values = actors.map(({ means }) => means[state] ?? null)
    return rounded(computeMean(values, seconds))
  })
}

function roundedMean(percents: readonly Percent[]): Percent {
  const mean = plainMean(percents)
  return mean === null ? null : Math.round(mean)
}
