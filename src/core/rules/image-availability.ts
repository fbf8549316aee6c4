import { type Denied, type Left, type Observer, refuse } from '../decision.ts'
import type { OnError } from '../request.ts'

/**
 * What becomes of a pod when no node is known to hold the image of one of its observers. A native sidecar whose
 * image cannot be pulled keeps the containers behind it from starting, and an ordinary container keeps
 * the pod from ending: either way the application would pay for an observer that nobody sees.
 *
 * @param held the images that nodes hold; undefined where nobody watches, and nothing is unavailable
 */
export function checkImageAvailability(
  held: ReadonlySet<string> | undefined,
  onError: OnError,
  observers: readonly Observer[],
): Left | Denied | undefined {
  if (held === undefined) return undefined
  const missing = observers.find(({ metric }) => !held.has(metric.container.image))
  if (missing === undefined) return undefined
  const { name, container } = missing.metric
  const message = `no node is known to hold ${container.image}, the image of ${name}`
  return refuse(onError, 'observer-unavailable', message)
}
