import { asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'
import type { Resources } from './pod-resources.ts'
import {
  EMPTY_RESOURCE_LIST,
  filled,
  type ResourceList,
  readResourceList,
} from './resource-list.ts'

/** A core/v1 LimitRange: its defaults for containers, and its bounds for containers and pods. */
export interface LimitRange {
  readonly name: string
  /** The requests and limits of a container for the resources that it does not set itself. */
  readonly defaults: Resources
  readonly bounds: readonly Bounds[]
}

/** The bounds for each container, or for the sum over the containers of a pod. */
export interface Bounds {
  readonly type: 'Container' | 'Pod'
  readonly min: ResourceList
  readonly max: ResourceList
  readonly maxLimitRequestRatio: ResourceList
}

/** Reads a LimitRange. Items for other types, such as PersistentVolumeClaim, are skipped. */
export function readLimitRange(object: unknown): LimitRange {
  const { metadata, spec } = fieldsOrNone(object)
  const items = listOrNone(fieldsOrNone(spec).limits).map(fieldsOrNone)
  const defaults = items.filter(({ type }) => type === 'Container').map(readDefaults)
  return {
    name: asText(fieldsOrNone(metadata).name) ?? '',
    // If several items set a default, the last one takes precedence (limitranger,
    // defaultContainerResourceRequirements).
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
 * Reads the defaults of an item and completes them as the apiserver does (kubernetes v1.36
 * pkg/apis/core/v1/defaults.go, SetDefaults_LimitRangeItem). A LimitRange therefore has the same
 * meaning in a file as in the API.
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
