import { asFields, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'

/**
 * The spec of a pod with its requests filled from its limits, as the apiserver fills them before a webhook sees the pod: without that, a
 * pod that says limits alone would not count as Guaranteed.
 *
 * The rule is kubernetes v1.36 pkg/apis/core/v1/defaults.go, SetDefaults_Pod: of containers and init
 * containers, resource by resource; of the pod as a whole, which takes part in no sum of ours, nothing.
 */
export function withDefaults(spec: Fields): Fields {
  return {
    ...spec,
    ...filled('containers', spec.containers),
    ...filled('initContainers', spec.initContainers),
  }
}

function filled(key: string, containers: unknown): Fields {
  return Array.isArray(containers) ? { [key]: containers.map(withRequests) } : {}
}

function withRequests(container: unknown): unknown {
  const fields = asFields(container)
  const resources = asFields(fields?.resources)
  const limits = asFields(resources?.limits)
  if (limits === undefined) return container
  const requests = { ...limits, ...fieldsOrNone(resources?.requests) }
  return { ...fields, resources: { ...resources, requests } }
}
