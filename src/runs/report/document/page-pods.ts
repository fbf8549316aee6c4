import type { CollectedRun } from '../gather.ts'
import { distinct } from '../groups.ts'

// A page names pods of its run, so that a page of another run is not replaced by mistake. A pod
// that was created again, for example by a retry of a Job, does not make it another run.

/** The most pods that a page names. */
const MAX_PODS = 20

/** Returns pods that identify a run; of logs that do not name their pod, their sources. */
export function podsOfRun({ sources }: CollectedRun): readonly string[] {
  const places = [...sources.values()].map(({ place }) => place)
  const names = places.map(({ namespace, pod, source }) =>
    pod === null ? (source ?? '') : `${namespace ?? ''}/${pod}`,
  )
  return distinct(names).slice(0, MAX_PODS)
}

/** Returns the element of a page that names the pods, with a line feed. */
export function podsElement(pods: readonly string[]): string {
  return `<meta name="ridealong-pods" content="${encodeURIComponent(JSON.stringify(pods))}">\n`
}

/**
 * Reads the pods that a page names.
 *
 * @param start the beginning of the page
 * @returns undefined if it is not the page of a run
 */
export function readPagePods(start: string): readonly string[] | undefined {
  const [, content] = /<meta name="ridealong-pods" content="([^"]*)">/.exec(start) ?? []
  if (content === undefined) return undefined
  try {
    const pods: unknown = JSON.parse(decodeURIComponent(content))
    return Array.isArray(pods) ? pods.map(String) : undefined
  } catch {
    return undefined
  }
}
