import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ReflectorOptions } from '../../src/cluster/reflect/reflector.ts'
import type { LookupOptions } from './lookup.ts'
import { REPAIR_OUTCOMES, type RepairOptions, type RepairOutcome } from './repair.ts'

/** Reports the state of a watched cluster in Prometheus metrics and in the log. */
export interface Report {
  onTroubleOf(resource: string): ReflectorOptions<unknown>['onTrouble']
  readonly onLookup: LookupOptions['onEnd']
  readonly onRepair: RepairOptions['onOutcome']
  onImage(image: string, isHeld: boolean): void
}

/**
 * Adds the Prometheus metrics of a cluster to a registry.
 *
 * @param age returns the age of the oldest cache, in seconds
 */
export function createReport(registry: Registry, log: Logger, age: () => number): Report {
  new Gauge({
    name: 'ridealong_namespace_cache_age_seconds',
    help: 'Seconds since the oldest cache was last known to be up to date; 60 or less is normal',
    registers: [registry],
    collect() {
      this.set(age())
    },
  })
  return {
    // A single failure is normal, because connections close and idle watches stall. If the next
    // attempt also fails, that failure is logged as a warning.
    onTroubleOf: (resource) => (trouble, isLasting) => {
      log[isLasting ? 'warn' : 'info'](
        { resource, trouble },
        'cannot update the cache; it stays in use',
      )
    },
    onLookup: reportLookups(registry, log),
    onRepair: reportRepairs(registry, log),
    onImage(image, isHeld) {
      if (isHeld) log.info({ image }, 'a node holds the image')
      else log.warn({ image }, 'no node is known to hold the image; its observers are not injected')
    },
  }
}

function reportLookups(registry: Registry, log: Logger): Report['onLookup'] {
  const lookups = new Counter({
    name: 'ridealong_namespace_lookups_total',
    help: 'Look-ups of namespaces for which the caches may be out of date, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  for (const outcome of ['answered', 'failed']) lookups.inc({ outcome }, 0)
  return (namespace, error) => {
    lookups.inc({ outcome: error === undefined ? 'answered' : 'failed' })
    if (error === undefined) return
    log.warn(
      { namespace, trouble: describeOutcome(error) },
      'cannot look up the namespace; decisions use the cached namespace',
    )
  }
}

function reportRepairs(registry: Registry, log: Logger): Report['onRepair'] {
  const repairs = new Counter({
    name: 'ridealong_namespace_repairs_total',
    help: 'Repairs of wrong labels of namespaces, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  for (const outcome of REPAIR_OUTCOMES) repairs.inc({ outcome }, 0)
  let lastFailure: RepairOutcome | undefined
  return (namespace, outcome, error) => {
    repairs.inc({ outcome })
    if (outcome === 'overtaken') return
    const line = { namespace, outcome, trouble: describeOutcome(error) }
    if (error === undefined) log.info(line, 'repaired the label of a namespace')
    // A failure that repeats with each repair is logged once.
    else if (outcome !== lastFailure) log.error(line, 'cannot repair the label of a namespace')
    lastFailure = error === undefined ? undefined : outcome
  }
}

function describeOutcome(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined
}
