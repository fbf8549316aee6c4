import { type Amounts, filled, NO_AMOUNTS, readAmounts } from './amounts.ts'
import { type Fields, fieldsOrNone, listOrNone, textOf } from './json.ts'
import type { Resources } from './load.ts'

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
  readonly min: Amounts
  readonly max: Amounts
  readonly maxLimitRequestRatio: Amounts
}

/** Reads a LimitRange; what it says of volume claims is left out. */
export function readLimitRange(object: unknown): LimitRange {
  const { metadata, spec } = fieldsOrNone(object)
  const items = listOrNone(fieldsOrNone(spec).limits).map(fieldsOrNone)
  const defaults = items.filter(({ type }) => type === 'Container').map(readDefaults)
  return {
    name: textOf(fieldsOrNone(metadata).name) ?? '',
    // Of several items the last counts (limitranger, defaultContainerResourceRequirements).
    defaults: defaults.reduce(
      (earlier, later) => ({
        requests: filled(later.requests, earlier.requests),
        limits: filled(later.limits, earlier.limits),
      }),
      { requests: NO_AMOUNTS, limits: NO_AMOUNTS },
    ),
    bounds: items.flatMap(readBounds),
  }
}

/**
 * The apiserver says no defaults but by these rules (kubernetes v1.36 pkg/apis/core/v1/defaults.go,
 * SetDefaults_LimitRangeItem), so that a LimitRange in a file means what it will mean when applied.
 */
function readDefaults(item: Fields): Resources {
  const [min, max] = [listOf(item.min), listOf(item.max)]
  const limits = filled(listOf(item.default), max)
  return { limits, requests: filled(filled(listOf(item.defaultRequest), limits), min) }
}

function readBounds(item: Fields): readonly Bounds[] {
  const { type } = item
  if (type !== 'Container' && type !== 'Pod') return []
  const maxLimitRequestRatio = listOf(item.maxLimitRequestRatio)
  return [{ type, min: listOf(item.min), max: listOf(item.max), maxLimitRequestRatio }]
}

function listOf(list: unknown): Amounts {
  return readAmounts(fieldsOrNone(list))
}
