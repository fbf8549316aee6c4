import type { RowOrigin } from '../log/columns.ts'

/**
 * What each log's rank is called: its rank, its pod where it has none, its file where that is not known
 * either. Two pods with the same rank, as a Job's second attempt is, are told apart by their names.
 *
 * @returns the names, by log
 */
export function labelRanks(places: readonly RowOrigin[]): Map<string, string> {
  const podsOf = new Map<string, Set<string>>()
  for (const place of places) {
    const pods = podsOf.get(shortLabel(place)) ?? new Set()
    podsOf.set(shortLabel(place), pods.add(podLabel(place)))
  }
  return new Map(
    places.map((place) => {
      const short = shortLabel(place)
      const isShared = (podsOf.get(short)?.size ?? 0) > 1
      return [place.source ?? '', isShared ? `${short} (${podLabel(place)})` : short]
    }),
  )
}

function shortLabel({ rank, pod, source }: RowOrigin): string {
  return rank ?? pod ?? baseName(source ?? '')
}

function podLabel({ namespace, pod, source }: RowOrigin): string {
  return pod === null ? (source ?? '') : `${namespace ?? ''}/${pod}`
}

function baseName(source: string): string {
  return source.slice(source.lastIndexOf('/') + 1)
}
