import { imagesOf } from '../catalog.ts'
import { type Denied, type Left, leaveOrDeny, type Observer } from '../decision.ts'
import type { OnError } from '../request.ts'

/**
 * Leaves or denies a pod if no node is known to have the image of an observer. A native sidecar
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
  for (const { metric } of observers) {
    const image = imagesOf(metric).find((image) => !held.has(image))
    if (image === undefined) continue
    const message = `no node is known to have ${image}, the image of ${metric.name}`
    return leaveOrDeny(onError, 'observer-unavailable', message)
  }
  return undefined
}
