import { imagesOf, type Metric } from '../catalog.ts'
import type { MetricProblem } from './left-metric.ts'

/**
 * Finds an image of a metric that no node is known to have. A native sidecar whose image cannot be
 * pulled prevents the containers after it from starting. An ordinary container whose image cannot
 * be pulled prevents the pod from completing.
 *
 * @param held the images that nodes are known to have; undefined if images are not watched, which
 * disables the check
 */
export function findMissingImage(
  held: ReadonlySet<string> | undefined,
  metric: Metric,
): MetricProblem | undefined {
  const image = held && imagesOf(metric).find((image) => !held.has(image))
  if (image === undefined) return undefined
  const message = `no node is known to have ${image}, the image of ${metric.name}`
  return { reason: 'observer-unavailable', message }
}
