import { readAnnotations } from '../core/request.ts'
import { eachField, fields, takenInSize } from './redaction.ts'

/** The domains of the Kubernetes project, whose annotations are documented and hold no secret. */
const OF_KUBERNETES = /^([a-z0-9-]+\.)*(kubernetes|k8s|x-k8s)\.io\//

/** But for those that hold a whole manifest, and a whole command line. */
const TELLING: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'kubernetes.io/change-cause',
])

/**
 * Redacts the values of annotations: anything may be in one. Ours are kept, which decide, and
 * Kubernetes's own; the others keep their key and their size.
 */
export const METADATA = fields({
  annotations: eachField((key, value) => (isKept(key) ? value : takenInSize(value))),
})

function isKept(key: string): boolean {
  const isOurs = readAnnotations({ [key]: '' }).size > 0
  return isOurs || (OF_KUBERNETES.test(key) && !TELLING.has(key))
}
