import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { FollowedNamespaces } from '../namespaces.ts'
import type { Check } from '../status-app.ts'
import type { Access } from './access.ts'
import { apiserverOf } from './apiserver.ts'
import { finder } from './find.ts'
import { createKnowledge, RESOURCES, type Resource } from './knowledge.ts'
import { createLookup } from './lookup.ts'
import { type Mirror, mirror } from './mirror.ts'
import { PACE, type Pace } from './pace.ts'
import { repairLabels } from './repair.ts'
import { createReport } from './report.ts'

export interface ClusterOptions {
  readonly access: Access
  readonly excludedNamespaces: ReadonlySet<string>
  readonly registry: Registry
  readonly log: Logger
  readonly pace?: Pace | undefined
}

/**
 * Watches the namespaces of a cluster and keeps their labels right, until it is stopped. It returns at
 * once: while nothing is known yet, each namespace that a pod comes from is looked up.
 */
export function watchCluster(options: ClusterOptions): FollowedNamespaces {
  const { excludedNamespaces, registry, log, pace = PACE } = options
  const api = apiserverOf(options.access)
  const report = createReport(registry, log, () => Math.max(...mirrors.map(ageOf)))
  const knowledge = createKnowledge((name) => repairs.consider(name))
  const { collections } = knowledge
  const repairs = repairLabels({
    api,
    namespaces: collections.namespaces,
    excludedNamespaces,
    pace,
    onOutcome: report.onRepair,
  })
  const watched = Object.keys(RESOURCES) as Resource[]
  const mirrors = watched.map((resource) => {
    return mirror({
      api,
      path: `/api/v1/${resource}`,
      itemOf: RESOURCES[resource],
      collection: collections[resource],
      pace,
      onTrouble: (trouble, isLasting) => report.onTrouble(resource, trouble, isLasting),
    })
  })
  const look = createLookup({ api, knowledge, pace, onEnd: report.onLookup })
  return {
    find: finder(knowledge, look, () => mirrors.every(({ isListed }) => isListed)),
    checks: () => mirrors.map((each, place) => checkOf(watched[place] ?? '', each)),
    stop() {
      repairs.stop()
      for (const { stop } of mirrors) stop()
    },
  }
}

function ageOf({ inStepAt }: Mirror): number {
  return (performance.now() - inStepAt) / 1000
}

/** Without its first list a server would leave pods that ask; with an old one it still serves. */
function checkOf(name: string, mirror: Mirror): Check {
  const { isListed, trouble } = mirror
  if (!isListed) return { name, problem: `not listed yet: ${trouble ?? 'asked for'}`, fatal: true }
  const age = `last in step ${Math.round(ageOf(mirror))} s ago`
  return { name, problem: trouble && `${trouble}; ${age}`, fatal: false }
}
