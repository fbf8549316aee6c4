import { need, plot, type SectionColumns, type ThingOf } from '../evidence/evidence.ts'
import { lastOf, nameOf } from '../evidence/run-evidence.ts'
import { CONTAINERS } from '../metrics/usual-sections.ts'
import { perPod } from '../rules/per-pod.ts'
import { defineRule, type FactUnits, listFacts, type PodFinding } from '../rules/rule.ts'
import { factIn, thingsOf } from '../rules/sentence.ts'
import { percentOf } from '../rules/time-lost.ts'
import { findSteadyGrowth } from './steady-growth.ts'

const CONTAINER = {
  ...CONTAINERS,
  columns: ['memory_anon', 'memory_limit', 'unlimited'],
  series: ['memory_anon'],
} as const satisfies SectionColumns

const FACTS = {
  'part of the limit after a run twice as long': 'percent',
  'time to the limit': 's',
  'growth per hour': 'bytes',
  'memory that cannot be freed': 'bytes',
  'memory limit': 'bytes',
} as const satisfies FactUnits

const SECONDS_PER_HOUR = 3600

/**
 * Memory that the kernel cannot free, if it grows steadily and would soon reach the limit of its
 * container. It is the memory of all processes of the container together. STEADY says what steady
 * growth is.
 *
 * The threshold is Ridealong's own: the growth is not continued for longer than it was observed.
 */
export const MEMORY_GROWING = defineRule({
  name: 'memory-growing',
  title: 'Memory grows to its limit',
  severity: 'risk',
  area: 'memory',
  needs: [[need(CONTAINER, 'memory_anon', 'unlimited')]],
  threshold: {
    value: 100,
    unit: 'percent',
    condition:
      'memory that the kernel can only free by swapping grew steadily in the second half of the ' +
      'run, and would reach the memory limit of the container before the run is twice as long',
    source: 'Ridealong: growth is not continued for longer than it was observed',
  },
  find: perPod((pod) => pod.things(CONTAINER).map(findGrowing)),
  sentence: (worst) =>
    `used more and more memory in ${thingsOf(worst)}: at a rate of ` +
    `${factIn(worst, 'growth per hour')} per hour, its limit of ` +
    `${factIn(worst, 'memory limit')} is reached in ${factIn(worst, 'time to the limit')}`,
  facts: FACTS,
  reads: [CONTAINER],
  explains: [
    {
      rules: ['close-to-memory-limit'],
      of: 'same pod',
      because: 'memory that grows to its limit comes close to it first',
    },
  ],
  advice:
    'Look for memory that the program allocates in each step and does not free, for example with ' +
    'heaptrack, or tracemalloc in Python. If the growth is intended, raise the memory limit of ' +
    'the container (resources.limits.memory), or end the run earlier and continue it from a ' +
    'checkpoint.',
  plots: [plot(CONTAINER, 'memory_anon')],
})

function findGrowing(
  container: ThingOf<typeof CONTAINER>,
): PodFinding<keyof typeof FACTS> | undefined {
  const limit = lastOf(container, 'memory_limit')
  const growth = findSteadyGrowth(container.readings.get('memory_anon')?.series?.points ?? [])
  if (limit === null || growth === undefined) return undefined
  const { slope, end, seconds } = growth
  const part = percentOf(end + slope * seconds, limit)
  if (part < MEMORY_GROWING.threshold.value) return undefined
  return {
    things: [nameOf(container)],
    lost: null,
    facts: listFacts(FACTS, {
      'part of the limit after a run twice as long': part,
      'time to the limit': Math.max(limit - end, 0) / slope,
      'growth per hour': slope * SECONDS_PER_HOUR,
      'memory that cannot be freed': lastOf(container, 'memory_anon'),
      'memory limit': limit,
    }),
  }
}
