import { pathOfResource } from '../../cluster/discovery.ts'
import { listObjects } from '../../cluster/list.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import type { OwnerReference } from '../../core/kubernetes/owner-reference.ts'
import {
  type ControllerFacts,
  type Controllers,
  listControllers,
  NO_FACTS,
  type PodPlace,
} from './run-controllers.ts'

/** What the search for controllers needs to know of a pod. */
interface ControlledPod {
  readonly uid: string
  readonly controller: OwnerReference | undefined
}

/** Pods, with the controllers above them. */
export interface RunPods<Pod> {
  readonly pods: readonly Pod[]
  readonly controllers: Controllers
}

/**
 * Lists the pods of a namespace, or of all namespaces, with their controllers.
 *
 * @param selector a label selector in the syntax of kubectl; undefined for all pods
 * @param read reads a pod; whole pods are not kept
 * @throws ApiError, or a network error, if the pods or controllers cannot be listed. A missing
 * right to list a kind of controller is no error.
 */
export async function listRunPods<Pod extends ControlledPod>(
  place: PodPlace,
  selector: string | undefined,
  read: (pod: Fields) => Pod,
): Promise<RunPods<Pod>> {
  const { apiserver, namespace } = place
  const query = selector === undefined ? {} : { labelSelector: selector }
  const path = pathOfResource({ apiVersion: 'v1', namespace, plural: 'pods' })
  const call = { path, query }
  const pods = await listObjects(apiserver, call, async (page) => page.map(read))
  return { pods, controllers: await listPodControllers(place, pods) }
}

/**
 * Lists the controllers above pods.
 *
 * @throws ApiError, or a network error. A missing right to list a kind of controller is no error.
 */
export function listPodControllers(
  place: PodPlace,
  pods: readonly ControlledPod[],
): Promise<Controllers> {
  const nearest = pods.flatMap(({ controller }) => controller ?? [])
  const asControllers = new Map(pods.map(({ uid, controller }) => [uid, podFacts(controller)]))
  return listControllers(place, nearest, asControllers)
}

/** A pod can control other pods, such as the driver of a SparkApplication its executors. */
function podFacts(controller: OwnerReference | undefined): ControllerFacts {
  return { ...NO_FACTS, controller }
}
