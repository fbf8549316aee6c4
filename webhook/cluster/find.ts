import { readNamespace } from '../../src/core/namespace.ts'
import { requestsMetrics } from '../../src/core/request.ts'
import { type NamespaceSource, NotKnownYet } from '../namespaces.ts'
import type { Lookup } from './lookup.ts'
import type { NamespaceCache } from './namespace-cache.ts'

/**
 * Answers from what is known, in the same turn, or asks the apiserver where that may be too little: the
 * namespace is unknown, or a pod is here because it asks and it is not known to.
 *
 * @param isComplete whether everything was listed once; until then a namespace may be known and its
 * LimitRange not, so each is asked for
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
        throw new NotKnownYet('what the namespace asks')
      return found
    }
    const looked = look.find(name)
    return looked instanceof Promise ? looked.then(best) : best(looked)
  }
}
