import { type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { nameOf } from '../rules/observer-difference.ts'

/**
 * What is no longer as it was added to a pod, each as a sentence. The same that the chart's guard looks
 * for (charts/ridealong/templates/guard.yaml), each by its name.
 *
 * @param metrics the names of the observers that the pod's status says were added
 */
export function findDrift(spec: Fields, metrics: readonly string[]): readonly string[] {
  const ordinary = namesIn(listOrNone(spec.containers))
  const init = listOrNone(spec.initContainers).map(fieldsOrNone)
  const lasting = namesIn(init.filter(({ restartPolicy }) => restartPolicy === 'Always'))
  const problems = metrics.flatMap((name) => {
    if (ordinary.includes(name) || lasting.includes(name)) return []
    return namesIn(init).includes(name)
      ? [`${nameOf(name)} has lost its restartPolicy, so the pod waits for it for ever`]
      : [`${nameOf(name)} is not there any more`]
  })
  const isShared = spec.shareProcessNamespace === true
  return isShared ? problems : [...problems, 'shareProcessNamespace is not true']
}

function namesIn(containers: readonly unknown[]): readonly unknown[] {
  return containers.map((container) => fieldsOrNone(container).name)
}
