import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { requestsMetrics } from '../../src/core/request.ts'
import { type NamespaceSource, NotKnownYet } from '../namespaces.ts'
import type { Lookup } from './lookup.ts'
import type { NamespaceCache } from './namespace-cache.ts'

/**
 * Creates the function that finds namespaces. The function returns a cached namespace in the same
 * turn of the event loop. In these cases, the function looks up the namespace at the apiserver:
 * - The caches do not have the namespace.
 * - A pod was sent because its namespace requests metrics, but the cached namespace requests none.
 * - `isComplete` returns false.
 *
 * @param isComplete reports whether all resources have been listed once. Until then, a cached
 * namespace may lack its LimitRanges, so each namespace is looked up.
 */
export function finder(
  knowledge: NamespaceCache,
  look: Lookup,
  isComplete: () => boolean,
): NamespaceSource['find'] {
  return (name, mustAsk) => {
    const known = knowledge.find(name)
    const isEnough = known !== undefined && (!mustAsk || requestsMetrics(known.annotations))
    if (isEnough && isComplete()) return known
    const best = (isAnswered: boolean) => {
      const found = knowledge.find(name) ?? readNamespace(name, undefined)
      if (mustAsk && !isAnswered && !requestsMetrics(found.annotations))
        throw new NotKnownYet(`the request of the namespace ${name}`)
      return found
    }
    const looked = look.find(name)
    return looked instanceof Promise ? looked.then(best) : best(looked)
  }
}
