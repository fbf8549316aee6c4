import { KEYS, STATUS_KEY } from '../../core/keys.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { applied } from '../../core/patch.ts'
import { injectedBefore } from '../../core/status.ts'
import { answerFor } from './answer.ts'
import type { Facts } from './facts.ts'
import { type Finding, find, stop } from './finding.ts'

/** Two versions of a pod that differ only in the observers, for dry runs of their creation. */
export interface PodPair {
  readonly withObservers: Fields
  readonly withoutObservers: Fields
}

const NAME = 'dry run'

/**
 * Returns an explained pod with the observers that the webhook would add, and without observers.
 * The pod is complete enough for a dry run of its creation. A policy of the cluster can deny the
 * first pod and admit the second, for example because observers need shareProcessNamespace.
 *
 * @returns undefined if the webhook would add no observers, or the pod exists with observers
 */
export function buildPodPair(given: Facts): PodPair | undefined {
  const annotations = fieldsOrNone(fieldsOrNone(given.created?.metadata).annotations)
  if (injectedBefore(annotations).length > 0) return undefined
  const { received, reviewed } = answerFor(given)
  if (reviewed.decision.outcome !== 'injected') return undefined
  return {
    withObservers: creatable(applied(received, reviewed.operations)),
    withoutObservers: withoutRequest(creatable(received)),
  }
}

/** Returns the finding about the dry runs of a pod with observers and without. */
export function admissionFinding({ admission, created }: Facts): readonly Finding[] {
  if (admission === undefined) return []
  switch (admission.outcome) {
    case 'admitted':
      return [find(NAME, 'ok', 'the apiserver admits the pod with its observers')]
    case 'unknown':
      return [
        find(
          NAME,
          'unknown',
          `it is not known whether policies allow observers: ${admission.problem}`,
        ),
      ]
    case 'denied': {
      const sentence = `the apiserver denies the pod only with observers: ${admission.message}`
      // A pod that exists was not denied.
      return [created ? find(NAME, 'look', sentence) : stop(NAME, 'admission-policy', sentence)]
    }
  }
}

/**
 * Returns a copy of a pod that requests no observers. With the annotation of the pod, the request
 * of its namespace does not apply either.
 */
export function withoutRequest(pod: Fields): Fields {
  const metadata = fieldsOrNone(pod.metadata)
  const { [STATUS_KEY]: _, ...own } = fieldsOrNone(metadata.annotations)
  return { ...pod, metadata: { ...metadata, annotations: { ...own, [KEYS.inject]: 'false' } } }
}

/**
 * Returns a pod that the apiserver can create. It has a name that no other pod has, and no owner,
 * because the UID of an owner that does not exist yet is unknown. The image of a container that an
 * operator adds is unknown too.
 */
function creatable({ metadata, spec }: Fields): Fields {
  const { labels, annotations } = fieldsOrNone(metadata)
  // These fields are set after the creation of a pod.
  const { nodeName: _node, ephemeralContainers: _ephemeral, ...rest } = fieldsOrNone(spec)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'ridealong-explain-', labels, annotations },
    spec: {
      ...rest,
      initContainers: asObjects(rest.initContainers).map(imaged),
      containers: asObjects(rest.containers).map(imaged),
    },
  }
}

function imaged(container: Fields): Fields {
  return { ...container, image: container.image ?? 'unknown' }
}
