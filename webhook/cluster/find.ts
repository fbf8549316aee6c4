import { readNamespace } from '../../src/core/namespace.ts'
import { requestsMetrics } from '../../src/core/request.ts'
import { type NamespaceSource, NotKnownYet } from '../namespaces.ts'
import type { Lookup } from './lookup.ts'
import type { NamespaceCache } from './namespace-cache.ts'

/**
 * Finds namespaces. The function returns the known namespace in the same turn of the event loop, or
 * looks it up if the caches may be out of date: the namespace is unknown, or a pod was sent because
 * its namespace requests metrics, but the caches do not show that.
 *
 * @param isComplete whether all resources were listed once; until then a namespace may be known
 * without its LimitRanges, so each namespace is looked up
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
        throw new NotKnownYet('the request of the namespace')
      return found
    }
    const looked = look.find(name)
    return looked instanceof Promise ? looked.then(best) : best(looked)
  }
}
