import { readNamespace } from '../../src/core/namespace.ts'
import { asks } from '../../src/core/request.ts'
import { type NamespaceSource, NotKnownYet } from '../namespaces.ts'
import type { Knowledge } from './knowledge.ts'
import type { Lookup } from './lookup.ts'

/**
 * Answers from what is known, in the same turn, or asks the apiserver where that may be too little: the
 * namespace is unknown, or a pod is here because it asks and it is not known to.
 *
 * @param isComplete whether everything was listed once; until then a namespace may be known and its
 * LimitRange not, so each is asked for
 */
export function finder(
  knowledge: Knowledge,
  look: Lookup,
  isComplete: () => boolean,
): NamespaceSource['find'] {
  return (name, mustAsk) => {
    const known = knowledge.find(name)
    const isEnough = known !== undefined && (!mustAsk || asks(known.annotations))
    if (isEnough && isComplete()) return known
    const best = (isAnswered: boolean) => {
      const found = knowledge.find(name) ?? readNamespace(name, undefined)
      if (mustAsk && !isAnswered && !asks(found.annotations))
        throw new NotKnownYet('what the namespace asks')
      return found
    }
    const looked = look.find(name)
    return looked instanceof Promise ? looked.then(best) : best(looked)
  }
}
