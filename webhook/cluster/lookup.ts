import { ApiError } from '../../src/cluster/api-error.ts'
import { type Apiserver, connectApiserver } from '../../src/cluster/apiserver.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { namespaceItem, ruleItem } from '../../src/cluster/reflect/item.ts'
import { asText, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { NAMESPACE_NAME } from '../../src/core/kubernetes/namespace-name.ts'
import { pauseInBackground } from '../../src/lib/pause.ts'
import { NotKnownYet } from '../namespaces.ts'
import type { Intervals } from './intervals.ts'
import type { NamespaceCache } from './namespace-cache.ts'

/**
 * The time for which an idle connection is kept for further look-ups, in milliseconds. The time is
 * short because an idle connection can break unnoticed.
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
   * Reads one namespace and its rules (LimitRanges and ResourceQuotas) from the apiserver, and
   * stores them in the caches. The promise never rejects, and settles within `lookupMs`. A recent
   * look-up is not repeated.
   *
   * @returns true if the apiserver returned the namespace, or if the name is not a valid name of a
   * namespace
   * @throws NotKnownYet if the limit on look-ups of unknown namespaces is reached. The apiserver
   * calls again after a second. By then, the watch has delivered the namespace if it is new.
   */
  find(name: string): Promise<boolean> | boolean
  /**
   * Must be called when a namespace has changed. If its last look-up found no namespace, the next
   * call of `find` looks it up again at once.
   */
  forget(name: string): void
  stop(): void
}

/**
 * Creates the look-up of namespaces. Calls for the same namespace share one look-up. After a
 * look-up, the namespace is not looked up again for `lookupRestMs`, or for `absentMs` if the
 * namespace does not exist. Otherwise, every pod would cause a look-up if its namespace is armed
 * (has the label `ridealong.dev/armed`) without requesting metrics, or if the apiserver is
 * unreachable.
 *
 * If the caches do not have a namespace, they may also lack its LimitRanges and ResourceQuotas,
 * which `kubectl apply` often creates at the same moment. A pod with an observer that violates one
 * of these rules would be rejected. The rules are therefore read in parallel with the namespace.
 * The apiserver's own LimitRanger also reads LimitRanges directly if its cache has none for a
 * namespace (kubernetes plugin/pkg/admission/limitranger/admission.go).
 *
 * A client can invent any number of names. The look-ups of names that are not in the caches are
 * therefore limited, for all clients together. Look-ups of cached names need no such limit, because
 * the number of these names is limited.
 */
export function createLookup({ access, knowledge, pace, onEnd }: LookupOptions): Lookup {
  const api = connectApiserver(access, IDLE_MS)
  const current = new Map<string, Promise<boolean> | boolean>()
  // The timers of absent namespaces. `forget` clears them: they must not end the next pause.
  const absent = new Map<string, NodeJS.Timeout>()
  const budget = createBudget(pace)
  const rest = (name: string, isAnswered: boolean, ms: number) => {
    current.set(name, isAnswered)
    return setTimeout(() => {
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
    const late = failAfter(pace.lookupMs)
    const error = await Promise.race([fill(name, api, knowledge, patience.signal, settled), late])
    onEnd(name, error)
    patience.abort()
    const isAbsent = error instanceof ApiError && error.status === 404
    const timer = rest(name, isAnswered, isAbsent ? pace.absentMs : pace.lookupRestMs)
    if (isAbsent) absent.set(name, timer)
    return isAnswered
  }
  const start = (name: string) => {
    if (knowledge.find(name) !== undefined) return look(name)
    if (!budget.take()) throw new NotKnownYet(`the namespace ${name} (too many are looked up)`)
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
      clearTimeout(absent.get(name))
      if (absent.delete(name)) current.delete(name)
    },
  }
}

async function failAfter(ms: number): Promise<Error> {
  await pauseInBackground(ms)
  return new Error(`no answer within ${ms} ms`)
}

/** Limits the number of concurrent look-ups, and their rate with a token bucket. */
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
 * Reads a namespace and its rules. Each response is stored when it arrives, so a slow response does
 * not delay the others.
 *
 * @param settled called when the namespace itself is stored
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
