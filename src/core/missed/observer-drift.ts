import { type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { nameOf } from '../rules/observer-difference.ts'

/**
 * Lists the problems with the observers of a pod, each as a sentence: an observer is missing or has
 * lost its restartPolicy, or `shareProcessNamespace` is not true. The guard, a
 * ValidatingAdmissionPolicy of the chart, checks the same conditions
 * (charts/ridealong/templates/guard.yaml).
 *
 * @param metrics the names of the observers that the pod's status annotation lists as added
 */
export function findDrift(spec: Fields, metrics: readonly string[]): readonly string[] {
  const ordinary = namesIn(listOrNone(spec.containers))
  const init = listOrNone(spec.initContainers).map(fieldsOrNone)
  const lasting = namesIn(init.filter(({ restartPolicy }) => restartPolicy === 'Always'))
  const problems = metrics.flatMap((name) => {
    if (ordinary.includes(name) || lasting.includes(name)) return []
    return namesIn(init).includes(name)
      ? [`${nameOf(name)} has lost its restartPolicy, so the pod waits for it forever`]
      : [`${nameOf(name)} is missing`]
  })
  const isShared = spec.shareProcessNamespace === true
  return isShared ? problems : [...problems, 'shareProcessNamespace is not true']
}

function namesIn(containers: readonly unknown[]): readonly unknown[] {
  return containers.map((container) => fieldsOrNone(container).name)
}
