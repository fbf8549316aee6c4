import { setTimeout as sleep } from 'node:timers/promises'
import { type Apiserver, connectApiserver } from '../../src/cluster/apiserver.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { Refusal } from '../../src/cluster/refusal.ts'
import { asText, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { NAMESPACE_NAME } from '../../src/core/kubernetes/namespace-name.ts'
import { NotKnownYet } from '../namespaces.ts'
import type { Intervals } from './backoff.ts'
import type { NamespaceCache } from './namespace-cache.ts'
import { namespaceItem, ruleItem } from './reflect/item.ts'

const UNREF = { ref: false } as const

/**
 * Connections are kept for a burst of look-ups, but only briefly, because an idle connection may
 * die.
 */
const IDLE_MS = 5000

export interface LookupOptions {
  readonly access: Access
  readonly knowledge: NamespaceCache
  readonly pace: Intervals
  /** Called once for each look-up, with the error if there was one. */
  onEnd(name: string, error: unknown): void
}

/** Looks up namespaces at the apiserver. */
export interface Lookup {
  /**
   * Reads one namespace and its rules from the apiserver now, and stores them in the caches. The
   * promise never rejects, and settles within `lookupMs`. A recent look-up is not repeated.
   *
   * @returns whether the state of the namespace is known: the apiserver returned the namespace, or
   * no namespace can have this name
   * @throws NotKnownYet if the limit for look-ups of unknown namespaces is reached: the apiserver
   * calls again in a second, when the watch has delivered a new namespace
   */
  find(name: string): Promise<boolean> | boolean
  /** Notes that a namespace has changed: if it was missing, it is looked up again. */
  forget(name: string): void
  stop(): void
}

/**
 * Creates the look-up. Callers that look up the same namespace share one look-up, and a namespace
 * is not looked up again for a while: it may be armed without requesting metrics, or the apiserver
 * may be unreachable.
 *
 * If the caches do not have a namespace, the namespace is new or the caches are behind. In both
 * cases its LimitRanges and ResourceQuotas, which `kubectl apply` creates at the same moment, may
 * also be missing, and a pod with an observer that violates one of them would be rejected. So these
 * rules are read in parallel with the namespace, as the apiserver's own LimitRanger does if its
 * cache is empty (kubernetes plugin/pkg/admission/limitranger/admission.go).
 *
 * Callers may also invent names. So the look-ups of names that the caches do not have are limited,
 * over all callers. Look-ups of names that the caches have are limited by the number of these
 * names.
 */
export function createLookup({ access, knowledge, pace, onEnd }: LookupOptions): Lookup {
  const api = connectApiserver(access, IDLE_MS)
  const current = new Map<string, Promise<boolean> | boolean>()
  const absent = new Set<string>()
  const budget = createBudget(pace)
  const rest = (name: string, isAnswered: boolean, ms: number) => {
    current.set(name, isAnswered)
    setTimeout(() => {
      absent.delete(name)
      current.delete(name)
    }, ms).unref()
  }
  const look = async (name: string) => {
    const patience = new AbortController()
    let isAnswered = false
    const settled = () => {
      isAnswered = true
    }
    const late = sleep(pace.lookupMs, new Error(`no answer within ${pace.lookupMs} ms`), UNREF)
    const error = await Promise.race([fill(name, api, knowledge, patience.signal, settled), late])
    onEnd(name, error)
    patience.abort()
    const isAbsent = error instanceof Refusal && error.status === 404
    if (isAbsent) absent.add(name)
    rest(name, isAnswered, isAbsent ? pace.absentMs : pace.lookupRestMs)
    return isAnswered
  }
  const start = (name: string) => {
    if (knowledge.find(name) !== undefined) return look(name)
    if (!budget.take()) throw new NotKnownYet('the namespace, one of many,')
    return look(name).finally(budget.giveBack)
  }
  return {
    find(name) {
      // No namespace can have an invalid name, so no look-up is needed.
      if (!NAMESPACE_NAME.test(name)) return true
      const running = current.get(name)
      if (running !== undefined) return running
      const lookup = start(name)
      current.set(name, lookup)
      return lookup
    },
    stop: () => api.close(),
    forget(name) {
      if (absent.delete(name)) current.delete(name)
    },
  }
}

/** Limits concurrent look-ups and their rate, with a token bucket that fills evenly. */
function createBudget({ lookupsAtOnce, lookupBurst, lookupsPerSecond }: Intervals) {
  let running = 0
  let tokens = lookupBurst
  let filledAt = performance.now()
  return {
    take(): boolean {
      const now = performance.now()
      tokens = Math.min(lookupBurst, tokens + ((now - filledAt) / 1000) * lookupsPerSecond)
      filledAt = now
      if (running >= lookupsAtOnce || tokens < 1) return false
      running += 1
      tokens -= 1
      return true
    },
    giveBack(): void {
      running -= 1
    },
  }
}

/**
 * Reads a namespace and its rules. Each response is stored when it arrives, so a slow one does not
 * delay the others.
 *
 * @param settled called when the namespace itself is known
 * @returns the first error, or undefined
 */
async function fill(
  name: string,
  api: Apiserver,
  { collections }: NamespaceCache,
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
    const version = asText(fieldsOrNone(metadata).resourceVersion) ?? ''
    collections[resource].settle(name, listOrNone(items).map(ruleItem), version)
  }
  const answers = [fillNamespace(), fillRules('limitranges'), fillRules('resourcequotas')]
  const ends = await Promise.allSettled(answers)
  return ends.find((end) => end.status === 'rejected')?.reason
}
