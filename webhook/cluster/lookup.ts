import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { fieldsOrNone, listOrNone, textOf } from '../../src/core/json.ts'
import { NAMESPACE_NAME } from '../../src/core/namespace-name.ts'
import { namespaceItem, ruleItem } from './item.ts'
import type { Knowledge } from './knowledge.ts'
import type { Pace } from './pace.ts'

const UNREF = { ref: false } as const

export interface LookupOptions {
  readonly api: Apiserver
  readonly knowledge: Knowledge
  readonly pace: Pace
  /** Called once for each lookup, with what went wrong, if anything did. */
  onEnd(name: string, error: unknown): void
}

/**
 * Asks the apiserver about one namespace, now, and fills in what is known of it. Never fails, and takes
 * no longer than `lookupMs`. Where it was done a moment ago, nothing is asked.
 *
 * @returns whether the apiserver said what the namespace is
 */
export type Lookup = (name: string) => Promise<boolean> | boolean

/**
 * Makes lookups. Callers that ask for the same namespace share one, and one that was just looked up is
 * left alone for a while: it may be armed and never ask, or the apiserver be out of reach.
 *
 * A namespace that the caches do not know is new, or they lag behind. Either way its LimitRanges and
 * ResourceQuotas, which `kubectl apply` creates in the same moment, may be as unknown, and an observer
 * that breaks one of them would cost the pod. So they are asked for with the namespace and side by
 * side, as the apiserver's own LimitRanger does where its cache is empty (kubernetes
 * plugin/pkg/admission/limitranger/admission.go).
 */
export function createLookup({ api, knowledge, pace, onEnd }: LookupOptions): Lookup {
  const current = new Map<string, Promise<boolean> | boolean>()
  const look = async (name: string) => {
    const patience = new AbortController()
    let isAnswered = false
    const settled = () => {
      isAnswered = true
    }
    const late = sleep(pace.lookupMs, new Error(`no answer within ${pace.lookupMs} ms`), UNREF)
    onEnd(name, await Promise.race([fill(name, api, knowledge, patience.signal, settled), late]))
    patience.abort()
    current.set(name, isAnswered)
    setTimeout(() => current.delete(name), pace.lookupRestMs).unref()
    return isAnswered
  }
  return (name) => {
    // A name that none has is known not to be there.
    if (!NAMESPACE_NAME.test(name)) return true
    const running = current.get(name)
    if (running !== undefined) return running
    const lookup = look(name)
    current.set(name, lookup)
    return lookup
  }
}

/**
 * Each answer counts as it comes: one that is late takes nothing from the others.
 *
 * @param settled called when the namespace itself is known
 * @returns what went wrong, if anything did
 */
async function fill(
  name: string,
  api: Apiserver,
  { collections }: Knowledge,
  signal: AbortSignal,
  settled: () => void,
): Promise<unknown> {
  const path = `/api/v1/namespaces/${name}`
  const fillNamespace = async () => {
    const item = namespaceItem(await api.ask({ path, signal }))
    collections.namespaces.settle(name, [item], item.resourceVersion)
    settled()
  }
  const fillRules = async (resource: 'limitranges' | 'resourcequotas') => {
    const { items, metadata } = await api.ask({ path: `${path}/${resource}`, signal })
    const version = textOf(fieldsOrNone(metadata).resourceVersion) ?? ''
    collections[resource].settle(name, listOrNone(items).map(ruleItem), version)
  }
  const answers = [fillNamespace(), fillRules('limitranges'), fillRules('resourcequotas')]
  const ends = await Promise.allSettled(answers)
  return ends.find((end) => end.status === 'rejected')?.reason
}
