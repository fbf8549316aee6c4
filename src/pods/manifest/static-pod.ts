import { UNKNOWN_BODY } from '../../core/body-scan.ts'
import { COMPLETION_INDEX_KEY } from '../../core/keys.ts'
import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import type { Review } from '../../core/review.ts'
import { describePods } from './pod-owners.ts'
import type { Template } from './templates.ts'

/**
 * Builds the review that the apiserver would send for the first pod of a template, limited to the
 * fields that affect the decision about the pod or its observers.
 *
 * @param namespace the namespace of the pod
 */
export function buildReview(template: Template, namespace: string): Review {
  const object = buildPod(template)
  return {
    source: UNKNOWN_BODY,
    uid: uidBeside(fieldsOrNone(object.spec).volumes),
    operation: 'CREATE',
    subResource: '',
    namespace,
    name: template.resource.name,
    dryRun: false,
    object,
    oldObject: null,
  }
}

function buildPod(template: Template): Fields {
  const { fields } = template
  const metadata = fieldsOrNone(fields.metadata)
  const { owner, restartPolicy, isIndexed, labels } = describePods(template)
  const index = isIndexed ? { [COMPLETION_INDEX_KEY]: '0' } : {}
  const references = owner && { ownerReferences: [{ ...owner, controller: true }] }
  return {
    metadata: {
      ...metadata,
      annotations: mergeAnnotations(metadata.annotations, index),
      labels: { ...asFields(metadata.labels), ...labels },
      ...references,
    },
    spec: withDefaults({ ...fieldsOrNone(fields.spec), restartPolicy }),
  }
}

/**
 * Adds annotations. A value that is not a map is returned unchanged, so that the review reports the
 * value as invalid.
 */
function mergeAnnotations(written: unknown, added: Fields): unknown {
  const annotations = asFields(written ?? {})
  return annotations === undefined ? written : { ...annotations, ...added }
}

/**
 * Returns a UID with which the names of the added volumes are unique in the template. A second run
 * may add observers to the output of a first run, and Kubernetes refuses two volumes with the same
 * name.
 */
function uidBeside(volumes: unknown): string {
  const names = listOrNone(volumes).map((volume) => asText(asFields(volume)?.name) ?? '')
  const added = names.filter((name) => name.startsWith('ridealong-'))
  for (let round = 1; ; round += 1) {
    const uid = round === 1 ? 'static' : `static${round}`
    if (!added.some((name) => name.endsWith(`-${uid}`))) return uid
  }
}

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
