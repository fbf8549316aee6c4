import { asFields, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'

/**
 * Returns the spec of a pod in which missing requests are set to the limits, as the apiserver does
 * before it calls a webhook. Without this default, a pod that sets only limits would not count as
 * Guaranteed.
 *
 * The rule comes from kubernetes v1.36 pkg/apis/core/v1/defaults.go, SetDefaults_Pod, and applies
 * to each resource of containers and init containers. Pod-level resources are not defaulted here.
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
