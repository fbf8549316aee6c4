import type { Place } from '../log/columns.ts'

/**
 * What each log's rank is called: its rank, its pod where it has none, its file where that is not known
 * either. Two pods with the same rank, as a Job's second attempt is, are told apart by their names.
 *
 * @returns the names, by log
 */
export function labelRanks(places: readonly Place[]): Map<string, string> {
  const podsOf = new Map<string, Set<string>>()
  for (const place of places) {
    const pods = podsOf.get(shortOf(place)) ?? new Set()
    podsOf.set(shortOf(place), pods.add(podOf(place)))
  }
  return new Map(
    places.map((place) => {
      const short = shortOf(place)
      const isShared = (podsOf.get(short)?.size ?? 0) > 1
      return [place.source ?? '', isShared ? `${short} (${podOf(place)})` : short]
    }),
  )
}

function shortOf({ rank, pod, source }: Place): string {
  return rank ?? pod ?? baseOf(source ?? '')
}

function podOf({ namespace, pod, source }: Place): string {
  return pod === null ? (source ?? '') : `${namespace ?? ''}/${pod}`
}

function baseOf(source: string): string {
  return source.slice(source.lastIndexOf('/') + 1)
}
