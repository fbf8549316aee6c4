import { asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'
import type { Resources } from './pod-resources.ts'
import {
  EMPTY_RESOURCE_LIST,
  filled,
  type ResourceList,
  readResourceList,
} from './resource-list.ts'

/** A core/v1 LimitRange: what it gives to containers, and what it asks of them and of pods. */
export interface LimitRange {
  readonly name: string
  /** What a container gets where it says nothing itself. */
  readonly defaults: Resources
  readonly bounds: readonly Bounds[]
}

/** What a LimitRange asks of each container, or of the sum over a pod's. */
export interface Bounds {
  readonly type: 'Container' | 'Pod'
  readonly min: ResourceList
  readonly max: ResourceList
  readonly maxLimitRequestRatio: ResourceList
}

/** Reads a LimitRange; what it says of volume claims is left out. */
export function readLimitRange(object: unknown): LimitRange {
  const { metadata, spec } = fieldsOrNone(object)
  const items = listOrNone(fieldsOrNone(spec).limits).map(fieldsOrNone)
  const defaults = items.filter(({ type }) => type === 'Container').map(readDefaults)
  return {
    name: asText(fieldsOrNone(metadata).name) ?? '',
    // Of several items the last counts (limitranger, defaultContainerResourceRequirements).
    defaults: defaults.reduce(
      (earlier, later) => ({
        requests: filled(later.requests, earlier.requests),
        limits: filled(later.limits, earlier.limits),
      }),
      { requests: EMPTY_RESOURCE_LIST, limits: EMPTY_RESOURCE_LIST },
    ),
    bounds: items.flatMap(readBounds),
  }
}

/**
 * The apiserver says no defaults but by these rules (kubernetes v1.36 pkg/apis/core/v1/defaults.go,
 * SetDefaults_LimitRangeItem), so that a LimitRange in a file means what it will mean when applied.
 */
function readDefaults(item: Fields): Resources {
  const [min, max] = [readList(item.min), readList(item.max)]
  const limits = filled(readList(item.default), max)
  return { limits, requests: filled(filled(readList(item.defaultRequest), limits), min) }
}

function readBounds(item: Fields): readonly Bounds[] {
  const { type } = item
  if (type !== 'Container' && type !== 'Pod') return []
  const maxLimitRequestRatio = readList(item.maxLimitRequestRatio)
  return [{ type, min: readList(item.min), max: readList(item.max), maxLimitRequestRatio }]
}

function readList(list: unknown): ResourceList {
  return readResourceList(fieldsOrNone(list))
}
