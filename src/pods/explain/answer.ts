import { asFields, asObjects, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type Request, readAnnotations, readRequest } from '../../core/request.ts'
import type { Review } from '../../core/review.ts'
import { type PodReview, reviewPod } from '../../core/review-pod.ts'
import { asItCame } from '../../core/rules/original-pod.ts'
import type { Facts } from './facts.ts'
import { dependsOnPod, withoutSelection } from './selection-findings.ts'

/** The answer of the webhook to the creation of an explained pod. */
export interface PodAnswer {
  /** The facts, with a target container, without the selection of pods if it is open. */
  readonly facts: Facts
  readonly request: Request
  /** Whether the observers depend on the index of each pod of a template. */
  readonly isPerPod: boolean
  /** The settings of the review. */
  readonly settings: Facts['settings']
  /** The pod that the webhook receives. */
  readonly received: Fields
  readonly reviewed: PodReview
}

/** Reviews the creation of a pod as the webhook would. */
export function answerFor(given: Facts): PodAnswer {
  const request = resolveRequest(given)
  const isPerPod = dependsOnPod(given, request)
  const known = given.isAssumed === true ? withTarget(given, request) : given
  const facts = isPerPod ? { ...withoutSelection(known), pods: undefined } : known
  const review = cameAs(facts)
  const settings = settingsFor(facts)
  const received = fieldsOrNone(review.object)
  return { facts, request, isPerPod, settings, received, reviewed: reviewPod(review, settings) }
}

function resolveRequest({ review, settings }: Facts): Request {
  const own = asFields(fieldsOrNone(fieldsOrNone(review.object).metadata).annotations)
  return readRequest(readAnnotations(own), settings.namespace.annotations, settings.catalog)
}

/** Adds the requested target container to a pod whose containers are not all known. */
function withTarget(facts: Facts, request: Request): Facts {
  const target = request.kind === 'asked' ? request.targetContainer : undefined
  const pod = fieldsOrNone(facts.review.object)
  const spec = fieldsOrNone(pod.spec)
  const containers = asObjects(spec.containers)
  if (target === undefined || containers.some(({ name }) => name === target)) return facts
  const object = { ...pod, spec: { ...spec, containers: [...containers, { name: target }] } }
  return { ...facts, review: { ...facts.review, object } }
}

/**
 * Returns the review of the pod's creation. If the pod was created, the review contains the created
 * pod without the additions of Ridealong.
 */
function cameAs({ review, created }: Facts): Review {
  return created === undefined ? review : { ...review, object: asItCame(created) }
}

/**
 * Returns the settings for the review. For a created pod, the settings contain no images and no
 * quotas. The nodes may have had other images when the pod was created, and the quotas already
 * count the pod.
 */
function settingsFor({ settings, created }: Facts): Facts['settings'] {
  if (created === undefined) return settings
  const namespace = { ...settings.namespace, quotas: [] }
  return { ...settings, namespace, heldImages: undefined }
}
