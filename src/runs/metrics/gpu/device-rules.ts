import { need, plot } from '../../evidence/evidence.ts'
import { lastOf } from '../../evidence/run-evidence.ts'
import { perPod } from '../../rules/per-pod.ts'
import { defineRule, type FactUnits, listFacts, type PodFinding } from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { percentOf } from '../../rules/time-lost.ts'
import { DEVICE, type Device, MIN_SAMPLES, nameOf } from './idle-rule.ts'

const FULL_FACTS = {
  'part of the memory': 'percent',
  'memory in use': 'bytes',
  'memory of the GPU': 'bytes',
} as const satisfies FactUnits

/**
 * A GPU whose memory was nearly full. A program that needs more ends with an error, because a GPU
 * has no swap space. The threshold is above the part that programs take in advance by default.
 */
export const GPU_MEMORY_FULL = defineRule({
  name: 'gpu-memory-nearly-full',
  title: 'Memory of a GPU nearly full',
  severity: 'risk',
  isOptional: true,
  needs: [[need(DEVICE, 'memory_used', 'memory_total')]],
  threshold: {
    value: 95,
    unit: 'percent',
    condition: 'at least 95 % of the memory of a GPU were in use in a sample',
    source: 'Ridealong: more than JAX (75 %) and vLLM (90 %) take in advance by default',
  },
  find: perPod((pod) => pod.things(DEVICE).map(findFull)),
  sentence: (worst) =>
    `had ${factIn(worst, 'part of the memory')} of the memory of ${thingsOf(worst)} in use: ` +
    `${factIn(worst, 'memory in use')} of ${factIn(worst, 'memory of the GPU')}`,
  facts: FULL_FACTS,
  reads: [DEVICE],
  advice:
    'Use a smaller batch, or more GPUs with less data each, before the program fails. If the ' +
    'program takes memory in advance, the finding does not say how much of it is used.',
  plots: [plot(DEVICE, 'memory_used')],
})

function findFull(device: Device): PodFinding<keyof typeof FULL_FACTS> | undefined {
  const used = device.readings.get('memory_used')?.most ?? null
  const total = lastOf(device, 'memory_total')
  if (used === null || total === null) return undefined
  const part = percentOf(used, total)
  if (part < GPU_MEMORY_FULL.threshold.value) return undefined
  return {
    things: [nameOf(device)],
    lost: null,
    facts: listFacts(FULL_FACTS, {
      'part of the memory': part,
      'memory in use': used,
      'memory of the GPU': total,
    }),
  }
}

const LIMITED_FACTS = {
  'time limited': 'percent',
  'limited by power': 'percent',
  'limited by heat': 'percent',
} as const satisfies FactUnits

/**
 * A GPU whose clock was limited by power or heat. How much slower it computed is not known, because
 * a limited clock can still be near the highest one.
 */
export const GPU_LIMITED = defineRule({
  name: 'gpu-throttled',
  title: 'GPU throttled by power or heat',
  severity: 'risk',
  isOptional: true,
  needs: [[need(DEVICE, 'power_limited', 'heat_limited')]],
  threshold: {
    value: 10,
    unit: 'percent',
    condition:
      'the clock of a GPU was limited by power or by heat for at least 10 % of the time, by at ' +
      'least 10 samples',
    source: 'Ridealong',
  },
  find: perPod((pod) => pod.things(DEVICE).map(findLimited)),
  sentence: (worst) =>
    `had the clock of ${thingsOf(worst)} limited for ${factIn(worst, 'time limited')} of the ` +
    `time: by power for ${factIn(worst, 'limited by power')}, and by heat for ` +
    factIn(worst, 'limited by heat'),
  facts: LIMITED_FACTS,
  reads: [DEVICE],
  advice:
    'Compare the clock and the temperature of this GPU with those of others (section device of ' +
    'the metric gpu). For heat, look at the cooling of the node; for power, at the limit that ' +
    'is set for the GPU, which may be intended.',
  plots: [plot(DEVICE, 'heat_limited'), plot(DEVICE, 'power_limited')],
})

function findLimited(device: Device): PodFinding<keyof typeof LIMITED_FACTS> | undefined {
  const [power, heat] = [partOf(device, 'power_limited'), partOf(device, 'heat_limited')]
  if (power === null || heat === null || device.rows < MIN_SAMPLES) return undefined
  const part = Math.max(power, heat)
  if (part < GPU_LIMITED.threshold.value) return undefined
  return {
    things: [nameOf(device)],
    lost: null,
    facts: listFacts(LIMITED_FACTS, {
      'time limited': part,
      'limited by power': power,
      'limited by heat': heat,
    }),
  }
}

/** Returns the part of the time for which a gauge was above zero, in percent. */
function partOf(device: Device, column: (typeof DEVICE.columns)[number]): number | null {
  const reading = device.readings.get(column)
  if (reading === undefined || reading.last === null) return null
  return percentOf(reading.busy, reading.covered)
}
