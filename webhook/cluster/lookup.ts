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

/** Connections are kept for a burst of look-ups, and not for so long that they may have died. */
const IDLE_MS = 5000

export interface LookupOptions {
  readonly access: Access
  readonly knowledge: NamespaceCache
  readonly pace: Intervals
  /** Called once for each lookup, with what went wrong, if anything did. */
  onEnd(name: string, error: unknown): void
}

/** Looks namespaces up at the apiserver. */
export interface Lookup {
  /**
   * Asks the apiserver about one namespace, now, and fills in what is known of it. Never fails, and takes
   * no longer than `lookupMs`. Where it was done a moment ago, nothing is asked.
   *
   * @returns whether the apiserver said what the namespace is
   * @throws NotKnownYet where too many unknown namespaces are looked up already: the apiserver calls again
   * in a second, when the watch has brought a namespace that is new
   */
  find(name: string): Promise<boolean> | boolean
  /** Takes it that a namespace has changed: it may be there now. */
  forget(name: string): void
  stop(): void
}

/**
 * Makes lookups. Callers that ask for the same namespace share one, and one that was just looked up is
 * left alone for a while: it may be armed and never ask, or the apiserver be out of reach.
 *
 * A namespace that the caches do not know is new, or they lag behind. Either way its LimitRanges and
 * ResourceQuotas, which `kubectl apply` creates in the same moment, may be as unknown, and an observer
 * that breaks one of them would cost the pod. So they are asked for with the namespace and side by
 * side, as the apiserver's own LimitRanger does where its cache is empty (kubernetes
 * plugin/pkg/admission/limitranger/admission.go).
 *
 * A caller may also invent names. So the look-ups of names that the caches do not know are limited, over
 * all callers. Names that they do know are limited by their number.
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
    if (!budget.take()) throw new NotKnownYet('a namespace among many unknown ones')
    return look(name).finally(budget.giveBack)
  }
  return {
    find(name) {
      // A name that none has is known not to be there.
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

/** Bounds look-ups that run at the same time, and their rate: a bucket of tokens that fills evenly. */
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
 * Each answer counts as it comes: one that is late takes nothing from the others.
 *
 * @param settled called when the namespace itself is known
 * @returns what went wrong, if anything did
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
