import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readQuantity, writeQuantity } from '../../core/kubernetes/quantity.ts'
import {
  greatest,
  type ResourceList,
  readResourceList,
  sum,
} from '../../core/kubernetes/resource-list.ts'

/** Quantities by the name of the resource. */
type Amounts = Readonly<Record<string, string>>

/** The total requests and limits of observers. */
export interface Cost {
  /** The number of pods. If undefined, the number is unknown and the sums are for one pod. */
  readonly pods: number | undefined
  readonly requests: Amounts
  readonly limits: Amounts
  /**
   * The init containers that install tools. They run one after another, before the application, so
   * each amount is the maximum of these containers, not the sum.
   */
  readonly installers?: { readonly requests: Amounts; readonly limits: Amounts }
  /** The sum of the size limits of the volumes of tools. */
  readonly volumes?: string
}

/** The parts of one pod's additions that use resources. */
export interface AddedResources {
  /** A core/v1 ResourceRequirements for each observer. */
  readonly observers: readonly unknown[]
  /** A core/v1 ResourceRequirements for each init container that installs a tool. */
  readonly installers: readonly unknown[]
  /** A core/v1 Volume for each tool. */
  readonly volumes: readonly Fields[]
}

/**
 * Adds up the requests and limits of one pod's observers and multiplies the sums by the number of
 * pods.
 *
 * @param pods the number of pods; if undefined, the number is unknown and the sums are for one pod
 */
export function computeCost(added: AddedResources, pods: number | undefined): Cost {
  const { observers, installers, volumes } = added
  const times = BigInt(pods ?? 1)
  return {
    pods,
    requests: written(sum(listsOf(observers, 'requests')), times),
    limits: written(sum(listsOf(observers, 'limits')), times),
    ...(installers.length > 0 && {
      installers: {
        requests: written(greatest(listsOf(installers, 'requests')), times),
        limits: written(greatest(listsOf(installers, 'limits')), times),
      },
    }),
    ...(volumes.length > 0 && { volumes: writeQuantity(sizeOf(volumes) * times) }),
  }
}

function listsOf(resources: readonly unknown[], kind: 'requests' | 'limits'): ResourceList[] {
  return resources.map((one) => readResourceList(fieldsOrNone(fieldsOrNone(one)[kind])))
}

function sizeOf(volumes: readonly Fields[]): bigint {
  return volumes.reduce((total, { emptyDir }) => {
    return total + (readQuantity(fieldsOrNone(emptyDir).sizeLimit) ?? 0n)
  }, 0n)
}

function written(amounts: ResourceList, times: bigint): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, one]) => [name, writeQuantity(one * times)]))
}

/** Describes a cost in words. */
export function costSentence({ pods, installers, volumes, ...observers }: Cost): string {
  const many = pods === undefined ? 'per pod' : pods === 1 ? 'for 1 pod' : `for ${pods} pods`
  const parts = [
    described(observers) ?? 'no requests or limits of their own; they share those of the pod',
    ...(installers === undefined ? [] : [described(installers)].flatMap(beforeApplication)),
    ...(volumes === undefined ? [] : [`volumes on the nodes: at most ${volumes}`]),
  ]
  return `${many}: ${parts.join('; ')}`
}

function beforeApplication(installers: string | undefined): readonly string[] {
  return installers === undefined ? [] : [`before the application starts: ${installers}`]
}

function described({ requests, limits }: Pick<Cost, 'requests' | 'limits'>): string | undefined {
  const said = (amounts: Amounts) =>
    Object.entries(amounts)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(', ')
  const isNone = Object.keys(limits).length + Object.keys(requests).length === 0
  if (isNone) return undefined
  return `requests ${said(requests) || 'nothing'}; limits ${said(limits) || 'none'}`
}
