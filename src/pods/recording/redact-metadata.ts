import { readAnnotations } from '../../core/request.ts'
import { eachField, fields, takenInSize } from './redaction.ts'

/**
 * Matches the keys of the Kubernetes project. Except for those in `TELLING`, annotations with these
 * keys are documented and contain no secrets.
 */
const OF_KUBERNETES = /^([a-z0-9-]+\.)*(kubernetes|k8s|x-k8s)\.io\//

/**
 * The annotations of Kubernetes that contain a complete manifest or a complete command line, which
 * may contain secrets.
 */
const TELLING: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'kubernetes.io/change-cause',
])

/**
 * Redacts the values of annotations, which may contain any text. The annotations of Ridealong,
 * which affect decisions, and the annotations of Kubernetes that contain no secrets are kept. Other
 * annotations keep only their key and the size of their value.
 */
export const METADATA = fields({
  annotations: eachField((key, value) => (isKept(key) ? value : takenInSize(value))),
})

function isKept(key: string): boolean {
  const isOurs = readAnnotations({ [key]: '' }).size > 0
  return isOurs || (OF_KUBERNETES.test(key) && !TELLING.has(key))
}
