import type { RowOrigin } from '../log/columns.ts'

/**
 * Returns the label of each log: the index of its pod, or the name of the pod if the index is
 * unknown, or the file if the pod is unknown too. If several pods have the same label, for example
 * after a retry of a Job, the namespace and the name of the pod are added to it.
 *
 * @returns the labels, by log
 */
export function labelPods(places: readonly RowOrigin[]): Map<string, string> {
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

function shortLabel({ pod_index, pod, source }: RowOrigin): string {
  return pod_index ?? pod ?? baseName(source ?? '')
}

function podLabel({ namespace, pod, source }: RowOrigin): string {
  return pod === null ? (source ?? '') : `${namespace ?? ''}/${pod}`
}

function baseName(source: string): string {
  return source.slice(source.lastIndexOf('/') + 1)
}
