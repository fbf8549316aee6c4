import { Gauge, type Registry } from 'prom-client'
import { type Catalog, imagesOf, type Metric } from '../src/core/catalog.ts'
import { INTERVALS, type Intervals } from './cluster/intervals.ts'
import type { ReadinessCheck } from './status-app.ts'

export interface ImageOptions {
  readonly registry: Registry
  /** Returns the current catalog. */
  readonly catalog: () => Catalog
  /**
   * Returns the images that at least one node is known to have now; undefined if images are not
   * watched.
   */
  readonly heldImages: (() => ReadonlySet<string>) | undefined
  readonly pace?: Intervals | undefined
}

/**
 * Reports for each metric of the catalog whether its observer's image is available, in a Prometheus
 * metric and in a readiness check.
 *
 * A new server with a new catalog is not ready while nodes pull the images, so the old servers keep
 * answering. After `imagesMs` the server becomes ready without the images, because a pull may never
 * succeed. Pods that request a metric without an image then get no observers, and their annotation
 * `ridealong.dev/status` states the reason.
 */
export function showImages(options: ImageOptions): () => readonly ReadinessCheck[] {
  const { registry, catalog, heldImages, pace = INTERVALS } = options
  if (heldImages === undefined) return () => []
  const start = performance.now()
  const metrics = () => [...catalog().metrics.values()]
  new Gauge({
    name: 'ridealong_observer_image_available',
    help: '1 if nodes are known to hold the images of the metric; if 0, no pod gets its observer',
    labelNames: ['metric'] as const,
    registers: [registry],
    collect() {
      this.reset()
      const held = heldImages()
      for (const metric of metrics()) {
        const isHeld = imagesOf(metric).every((image) => held.has(image))
        this.set({ metric: metric.name }, isHeld ? 1 : 0)
      }
    },
  })
  return () => {
    const isPatient = performance.now() - start < pace.imagesMs
    return [{ name: 'images', problem: describeMissing(metrics(), heldImages()), fatal: isPatient }]
  }
}

function describeMissing(
  metrics: readonly Metric[],
  held: ReadonlySet<string>,
): string | undefined {
  const images = new Set(metrics.flatMap(imagesOf).filter((image) => !held.has(image)))
  const parts = [...images].map((image) => {
    const names = metrics.flatMap((metric) => (imagesOf(metric).includes(image) ? metric.name : []))
    return `${image} (${names.join(', ')})`
  })
  return parts.length === 0 ? undefined : `no node is known to hold ${parts.join(', ')}`
}
