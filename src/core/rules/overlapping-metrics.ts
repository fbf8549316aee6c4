import type { Metric } from '../catalog.ts'
import { DOMAIN } from '../keys.ts'
import type { Annotations } from '../request.ts'

/**
 * Returns a warning for each metric that contains the measurements of other requested metrics. The
 * pod still gets all observers: two measurements of one number cost resources, but are not wrong.
 *
 * @param metrics the requested metrics
 */
export function listOverlaps(metrics: readonly Metric[]): readonly string[] {
  return metrics.flatMap(({ name, includes }) => {
    if (includes.length === 0) return []
    const twice = metrics.map((other) => other.name).filter((other) => includes.includes(other))
    if (twice.length === 0) return []
    const verb = twice.length === 1 ? 'measures' : 'measure'
    return [`${name} measures what ${twice.join(' and ')} ${verb}; request only ${name}`]
  })
}

/**
 * Returns a warning for each annotation that sets an option of a metric which is not requested, and
 * whose measurements a requested metric contains. The option has no effect on that metric.
 *
 * @param metrics the requested metrics
 */
export function listIgnoredOptions(
  metrics: readonly Metric[],
  annotations: Annotations,
): readonly string[] {
  const requested = new Set(metrics.map(({ name }) => name))
  return metrics.flatMap(({ name, includes }) => {
    const prefixes = includes
      .filter((other) => !requested.has(other))
      .map((other) => `${other}.${DOMAIN}/`)
    const ignored = [...annotations.keys()].filter((key) =>
      prefixes.some((prefix) => key.startsWith(prefix)),
    )
    return ignored.map((key) => {
      const right = `${name}.${DOMAIN}/`
      return `annotation ${key} has no effect on ${name}, whose options begin with ${right}`
    })
  })
}
