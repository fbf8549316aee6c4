import { type Denied, type Left, type Observer, refuse } from '../decision.ts'
import type { OnError } from '../request.ts'

/**
 * Refuses to add observers if no node is known to have the image of an observer. A native sidecar
 * whose image cannot be pulled prevents the containers after it from starting. An ordinary
 * container whose image cannot be pulled prevents the pod from completing.
 *
 * @param held the images that nodes are known to have; undefined if images are not watched, which
 * disables the check
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
  const message = `no node is known to have ${container.image}, the image of ${name}`
  return refuse(onError, 'observer-unavailable', message)
}
