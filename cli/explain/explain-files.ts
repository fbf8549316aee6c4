import { type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { readReview } from '../../src/core/review.ts'
import { listMisplacedKeys } from '../../src/pods/explain/mistaken-keys.ts'
import { countPods } from '../../src/pods/explain/pods-of-template.ts'
import { findOperatedPods } from '../../src/pods/manifest/kinds/operated-pods.ts'
import { valueAt } from '../../src/pods/manifest/kinds/paths.ts'
import { at } from '../../src/pods/manifest/manifest-error.ts'
import { findMissedPods, type MissedPods } from '../../src/pods/manifest/missed-pods.ts'
import type { Manifest } from '../../src/pods/manifest/read.ts'
import { describeLeft, listNotObjects, listWithoutPods } from '../../src/pods/manifest/report.ts'
import {
  findResources,
  type HandledObject,
  type ManifestResource,
} from '../../src/pods/manifest/resources.ts'
import { buildReview } from '../../src/pods/manifest/static-pod.ts'
import { findTemplates, type Template } from '../../src/pods/manifest/templates.ts'
import { UsageError } from '../shared/errors.ts'
import { aboutPod } from './about-pod.ts'
import type { About } from './explain-facts.ts'

/** The pods of files, and the objects whose pods are not known. */
export interface FilePods {
  readonly abouts: readonly About[]
  /** A sentence for each object that may create pods which are not explained. */
  readonly notes: readonly string[]
  readonly missed: MissedPods
  /** Whether an object of a known kind has no pods to explain. */
  readonly isAnyLeft: boolean
}

/**
 * Finds the pods to explain in files: recorded AdmissionReviews, pods that were read from a
 * cluster, and pod templates.
 *
 * @param namespace the namespace of objects that name no namespace
 * @throws UsageError with the reason for each object, if no object creates pods
 */
export function aboutFiles(manifests: readonly Manifest[], namespace: string): FilePods {
  const abouts = manifests.flatMap((manifest) => aboutManifest(manifest, namespace))
  const resources = manifests.filter((one) => !isRecording(one)).flatMap(findResources)
  const missed = findMissedPods(resources.map(listFields), 'explained')
  const unexplained = resources.filter((resource) => aboutResource(resource, '').length === 0)
  const left = unexplained.flatMap(describeLeft)
  const notes = [...manifests.flatMap(listNotObjects), ...left, ...missed.notes]
  if (abouts.length > 0 || missed.isAnyMissed)
    return { abouts, notes, missed, isAnyLeft: left.length > 0 }
  const others = manifests.flatMap(listWithoutPods)
  throw new UsageError(...notes, ...others, 'no object is known to create pods')
}

/** Returns an object with its fields from which pods are explained. */
function listFields(resource: ManifestResource): HandledObject {
  const paths = [...findTemplates(resource), ...findOperatedPods(resource)]
  const fields = paths.map(({ path }) => path.slice(resource.path.length))
  return { resource, found: fields, changed: fields }
}

/** Returns the Namespaces among the documents, by name. */
export function namespacesIn(manifests: readonly Manifest[]): ReadonlyMap<string, Fields> {
  const namespaces = manifests
    .flatMap(findResources)
    .filter(({ group, kind }) => group === '' && kind === 'Namespace')
  return new Map(namespaces.map(({ name, fields }) => [name, fields]))
}

function aboutManifest(manifest: Manifest, namespace: string): readonly About[] {
  if (isRecording(manifest)) return [aboutRecording(manifest)]
  return findResources(manifest).flatMap((resource) => aboutResource(resource, namespace))
}

function isRecording({ value }: Manifest): boolean {
  return fieldsOrNone(value).kind === 'AdmissionReview'
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
  return aboutTemplates(resource, namespace)
}

/**
 * Describes the pods of an object that has none yet: the first pod of each template, and the pods
 * that an operator builds.
 */
export function aboutTemplates(resource: ManifestResource, namespace: string): readonly About[] {
  const templates = findTemplates(resource)
  const operated = templates.length > 0 ? [] : findOperatedPods(resource)
  return [
    ...templates.map((template) => aboutTemplate(template, templates.length > 1, namespace)),
    ...operated.map((pod) => {
      const { subject, ...about } = aboutTemplate(pod, false, namespace)
      return {
        ...about,
        subject: operated.length > 1 ? `${subject}, ${pod.role}` : subject,
        isTemplate: true,
        isAssumed: !pod.isWhole,
        pods: pod.pods,
      }
    }),
  ]
}

/** Returns the path of the object with the field `template`, such as the spec of a Job. */
function jobPath({ resource, path }: Template): Template['path'] {
  return path.slice(resource.path.length, -1)
}

/** Describes the first pod of a template. */
function aboutTemplate(template: Template, isOneOfMany: boolean, namespace: string): About {
  const { resource, path } = template
  const place = isOneOfMany ? `, ${path.slice(resource.path.length).join('.')}` : ''
  return {
    subject: `${resource.kind.toLowerCase()}/${resource.title}${place}`,
    review: buildReview(template, resource.namespace || namespace),
    isTemplate: path.length > resource.path.length,
    misplaced: listMisplacedKeys(resource),
    failurePolicy: fieldsOrNone(valueAt(resource.fields, jobPath(template))).podFailurePolicy,
    pods: countPods(template),
  }
}
