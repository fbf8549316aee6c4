import {
  asObjects,
  asShortText,
  asText,
  type Fields,
  fieldsOrNone,
} from '../../core/kubernetes/json.ts'
import { readQuantity } from '../../core/kubernetes/quantity.ts'
import { readTime } from '../../lib/rfc3339.ts'
import type { RunningObserver } from '../collect/observers.ts'
import type { ContainerUse } from '../log/container-use.ts'
import type { EndedContainer } from '../log/entry.ts'
import { readStart } from './container-runs.ts'

/** The amounts of a resource list; null if they are not set. */
export interface ComputeAmounts {
  /** Processors. */
  readonly cpu: number | null
  /** Bytes. */
  readonly memory: number | null
}

/** A container of the application. */
export interface ContainerFacts {
  readonly name: string
  /** The image in the specification of the pod; null if it is not known. */
  readonly image: string | null
  readonly requests: ComputeAmounts
  readonly limits: ComputeAmounts
  /** How it ended, now or before a restart. */
  readonly ended: readonly EndedContainer[]
  /** The seconds for which it ran, as far as the status of the pod shows; null if not known. */
  readonly lifetime: number | null
  /** Null if no summary has it. */
  readonly use: ContainerUse | null
}

/** The units of 10^-12 in which `readQuantity` returns a quantity. */
const QUANTITY_UNIT = 1e12

/** Reads a resource list. @param defaults the list that has the resources missing there */
export function readAmounts(list: unknown, defaults?: unknown): ComputeAmounts {
  const [own, others] = [list, defaults].map(fieldsOrNone)
  const read = (name: keyof ComputeAmounts) => {
    const amount = readQuantity(own?.[name]) ?? readQuantity(others?.[name])
    return amount === undefined || amount < 0n ? null : Number(amount) / QUANTITY_UNIT
  }
  return { cpu: read('cpu'), memory: read('memory') }
}

interface Observed {
  readonly observers: readonly RunningObserver[]
  readonly uses: ReadonlyMap<string, ContainerUse>
}

/**
 * The maximum length of an image. Registries allow 255 characters in a repository, and 128 in a tag
 * (distribution reference/reference.go), but Kubernetes does not limit the length.
 */
const MAX_IMAGE_LENGTH = 1024

/** Reads the containers of the application: all ordinary containers that are no observers. */
export function readContainers(
  spec: Fields,
  status: Fields,
  { observers, uses }: Observed,
): readonly ContainerFacts[] {
  const others = new Set(observers.map(({ container }) => container))
  const ended = observers[0]?.ended ?? []
  return asObjects(spec.containers).flatMap(({ name, image, resources }) => {
    const container = asText(name)
    if (container === undefined || others.has(container)) return []
    const { requests, limits } = fieldsOrNone(resources)
    return {
      name: container,
      image: asShortText(image, MAX_IMAGE_LENGTH) ?? null,
      requests: readAmounts(requests, limits),
      limits: readAmounts(limits),
      ended: ended.filter((one) => one.container === container),
      lifetime: readLifetime(status, container),
      use: uses.get(container) ?? null,
    }
  })
}

/** Returns the seconds of the present and the previous start, as far as both have ended. */
function readLifetime({ containerStatuses }: Fields, container: string): number | null {
  const found = asObjects(containerStatuses).find(({ name }) => name === container)
  const states = [found?.state, found?.lastState].map((state) => {
    return fieldsOrNone(fieldsOrNone(state).terminated)
  })
  const seconds = states.flatMap(({ startedAt, finishedAt }) => {
    const [start, end] = [readStart(startedAt), readTime(finishedAt)]
    return start === null || end === null || end < start ? [] : (end - start) / 1000
  })
  return seconds.length === 0 ? null : seconds.reduce((sum, one) => sum + one, 0)
}
