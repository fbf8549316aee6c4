import { asObjects, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { findContainer, nameOf } from '../rules/observer-difference.ts'
import { quote } from '../text/quote.ts'
import { missingParts } from '../tools/installed-tool.ts'

/**
 * Lists the problems with the observers of a pod, each as a sentence: an observer is missing or has
 * lost its restartPolicy; a variable, the installer or a mount of a tool is missing; or
 * `shareProcessNamespace` is not true.
 * The guard, a ValidatingAdmissionPolicy of the chart, checks the same conditions
 * (charts/ridealong/templates/guard.yaml).
 *
 * @param metrics the names of the observers that the pod's status annotation lists as added
 * @param variables the variables that the annotation lists as added
 */
export function findDrift(
  spec: Fields,
  metrics: readonly string[],
  variables: readonly string[],
): readonly string[] {
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
  const lost = findLostVariables(spec, variables).map((name) => `variable ${name} is missing`)
  const tools = metrics.flatMap((metric) => findToolProblems(spec, metric))
  return [
    ...problems,
    ...lost,
    ...tools,
    ...(isShared ? [] : ['shareProcessNamespace is not true']),
  ]
}

function findToolProblems(spec: Fields, metric: string): readonly string[] {
  const found = findContainer(spec, metric)
  const parts = found === undefined ? [] : missingParts(spec, found.container)
  return parts.map((part) => `${nameOf(metric)}: ${part}`)
}

/**
 * Returns the added variables that no container has. `ridealong inject` can write the name of the
 * container and a slash before the name of a variable.
 */
function findLostVariables(spec: Fields, variables: readonly string[]): readonly string[] {
  const containers = [...asObjects(spec.containers), ...asObjects(spec.initContainers)]
  const present = new Set(
    containers.flatMap(({ name, env }) => {
      return asObjects(env).flatMap((entry) => [entry.name, `${name}/${entry.name}`])
    }),
  )
  const lost = [...new Set(variables)].filter((variable) => !present.has(variable))
  return lost.map((name) => (/^[-A-Za-z0-9_/]{1,127}$/.test(name) ? name : quote(name)))
}

function namesIn(containers: readonly unknown[]): readonly unknown[] {
  return containers.map((container) => fieldsOrNone(container).name)
}
