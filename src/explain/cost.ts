import { type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import { writeQuantity } from '../core/kubernetes/quantity.ts'
import { type ResourceList, readResourceList, sum } from '../core/kubernetes/resource-list.ts'

/** The total requests and limits of observers: quantities by the name of the resource. */
export interface Cost {
  /** The number of pods. If undefined, the number is unknown and the sums are for one pod. */
  readonly pods: number | undefined
  readonly requests: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, string>>
}

/**
 * Adds up the requests and limits of one pod's observers and multiplies the sums by the number of
 * pods.
 *
 * @param resources a core/v1 ResourceRequirements for each observer of one pod
 * @param pods the number of pods; if undefined, the number is unknown and the sums are for one pod
 */
export function computeCost(resources: readonly unknown[], pods: number | undefined): Cost {
  const times = BigInt(pods ?? 1)
  const total = (kind: 'requests' | 'limits') => {
    const lists = resources.map((one) => readResourceList(fieldsOrNone(fieldsOrNone(one)[kind])))
    return written(sum(lists), times)
  }
  return { pods, requests: total('requests'), limits: total('limits') }
}

function written(amounts: ResourceList, times: bigint): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, one]) => [name, writeQuantity(one * times)]))
}

/** Describes a cost in words. */
export function costSentence({ pods, requests, limits }: Cost): string {
  const many = pods === undefined ? 'per pod' : pods === 1 ? 'for 1 pod' : `for ${pods} pods`
  const said = (amounts: Fields) =>
    Object.entries(amounts)
      .map(([name, amount]) => `${name} ${String(amount)}`)
      .join(', ')
  const isNone = Object.keys(limits).length + Object.keys(requests).length === 0
  if (isNone) return `${many}: no requests or limits of their own; they share those of the pod`
  return `${many}: requests ${said(requests) || 'nothing'}; limits ${said(limits) || 'none'}`
}
