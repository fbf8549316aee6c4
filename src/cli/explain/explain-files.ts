import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readReview } from '../../core/review.ts'
import { countPods } from '../../explain/pods-of-template.ts'
import { at } from '../../manifest/manifest-error.ts'
import type { Manifest } from '../../manifest/read.ts'
import { listSkipped } from '../../manifest/report.ts'
import { findResources, type ManifestResource } from '../../manifest/resources.ts'
import { buildReview } from '../../manifest/static-pod.ts'
import { findTemplates, type Template, valueAt } from '../../manifest/templates.ts'
import { UsageError } from '../shared/errors.ts'
import { aboutPod } from './about-pod.ts'
import type { About } from './explain-facts.ts'

/**
 * Finds the pods to explain in files: recorded AdmissionReviews, pods that were read from a
 * cluster, and pod templates.
 *
 * @param namespace the namespace of objects that name no namespace
 * @throws UsageError with the reason for each object, if no object creates pods
 */
export function aboutFiles(manifests: readonly Manifest[], namespace: string): readonly About[] {
  const abouts = manifests.flatMap((manifest) => aboutManifest(manifest, namespace))
  if (abouts.length > 0) return abouts
  const whys = manifests.flatMap((manifest) => listSkipped({ manifest, text: '', outcomes: [] }))
  throw new UsageError(...whys, 'there is no object that creates pods')
}

/** Returns the Namespaces among the documents, by name. */
export function namespacesIn(manifests: readonly Manifest[]): ReadonlyMap<string, Fields> {
  const namespaces = manifests
    .flatMap(findResources)
    .filter(({ group, kind }) => group === '' && kind === 'Namespace')
  return new Map(namespaces.map(({ name, fields }) => [name, fields]))
}

function aboutManifest(manifest: Manifest, namespace: string): readonly About[] {
  if (fieldsOrNone(manifest.value).kind === 'AdmissionReview') return [aboutRecording(manifest)]
  return findResources(manifest).flatMap((resource) => aboutResource(resource, namespace))
}

function aboutRecording(manifest: Manifest): About {
  const review = readReview(manifest.value)
  if ('problem' in review)
    throw new UsageError(at(manifest, `not a valid AdmissionReview: ${review.problem}`))
  return { subject: `pod/${review.name} of ${manifest.file}`, review, pods: 1 }
}

function aboutResource(resource: ManifestResource, namespace: string): readonly About[] {
  const { group, kind, name, fields } = resource
  // A pod with a uid was created, because only the apiserver sets uids.
  const isCreated =
    group === '' && kind === 'Pod' && fieldsOrNone(fields.metadata).uid !== undefined
  if (isCreated) return [aboutPod(fields, `pod/${name} of ${resource.manifest.file}`)]
  const templates = findTemplates(resource)
  return templates.map((template) => aboutTemplate(template, templates.length > 1, namespace))
}

/** Returns the path of the object with the field `template`, such as the spec of a Job. */
function jobPath({ resource, path }: Template): Template['path'] {
  return path.slice(resource.path.length, -1)
}

/** Describes the first pod of a template. */
export function aboutTemplate(template: Template, isOneOfMany: boolean, namespace: string): About {
  const { resource, path } = template
  const place = isOneOfMany ? `, ${path.slice(resource.path.length).join('.')}` : ''
  return {
    subject: `${resource.kind.toLowerCase()}/${resource.name}${place}`,
    review: buildReview(template, resource.namespace || namespace),
    isTemplate: path.length > resource.path.length,
    failurePolicy: fieldsOrNone(valueAt(resource.fields, jobPath(template))).podFailurePolicy,
    pods: countPods(template),
  }
}
