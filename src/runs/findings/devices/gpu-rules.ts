import { need, plot, type SectionColumns, type ThingOf } from '../../evidence/evidence.ts'
import { lastOf, type RunEvidence } from '../../evidence/run-evidence.ts'
import { perRank } from '../per-rank.ts'
import { longestWait } from '../profiles/longest-wait.ts'
import { PYTHON } from '../profiles/python-rule.ts'
import { type Affected, defineRule, type FactUnits, listFacts, type RankFinding } from '../rule.ts'
import { factIn, thingsOf } from '../sentence.ts'
import { MIN_SECONDS, percentOf } from '../time-lost.ts'

const DEVICE = {
  metric: 'gpu',
  section: 'device',
  columns: ['gpu_busy', 'memory_used', 'memory_total', 'power_limited', 'heat_limited'],
} as const satisfies SectionColumns

type Device = ThingOf<typeof DEVICE>

/** The fewest samples of a GPU of which parts of the time are computed. */
const MIN_SAMPLES = 10

const nameOf = ({ name }: Device) => `GPU ${name}`

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
  find: perRank((rank) => rank.things(DEVICE).map(findFull)),
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

function findFull(device: Device): RankFinding<keyof typeof FULL_FACTS> | undefined {
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
  find: perRank((rank) => rank.things(DEVICE).map(findLimited)),
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

function findLimited(device: Device): RankFinding<keyof typeof LIMITED_FACTS> | undefined {
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

/**
 * Returns the seconds in which a GPU can have been busy; null if it was not read. A GPU whose rows
 * end early counts as busy after them.
 */
function mostBusy(device: Device, elapsed: number): number | null {
  const reading = device.readings.get('gpu_busy')
  if (reading === undefined || reading.covered === 0) return null
  return reading.sum / 100 + Math.max(elapsed - reading.covered, 0)
}

const IDLE_FACTS = {
  'GPU idle while Python waits': 'percent',
  'GPU busy': 'percent',
  'waiting in the line': 's',
} as const satisfies FactUnits

/**
 * A GPU that is idle while the main thread of Python waits in a line.
 *
 * The samples of the GPU and those of Python are not taken together, so the time is the least that
 * they allow: the wait in the line, less all the time in which the GPU can have been busy. A line
 * that waits for the GPU itself has no such time. Of several processes, one waited for at least the
 * mean of all.
 */
export const GPU_IDLE_IN_PYTHON = defineRule({
  name: 'gpu-idle-while-python-waits',
  title: 'GPU idle while Python waits in a line',
  severity: 'slowdown',
  isOptional: true,
  needs: [[need(DEVICE, 'gpu_busy'), PYTHON]],
  threshold: {
    value: 25,
    unit: 'percent',
    condition:
      'the main thread of a process waited in a line of Python (without the functions that it ' +
      'calls): this wait, less the time in which the busiest GPU of the rank was busy, is at ' +
      'least 25 % of the run. There are at least 10 samples of the GPU',
    source: 'Ridealong',
  },
  find: findIdle,
  sentence: (worst) =>
    `had ${thingsOf(worst)} idle for at least ${factIn(worst, 'GPU idle while Python waits')} ` +
    `of the run while Python waited in ${worst.cause}: it waited there for ` +
    `${factIn(worst, 'waiting in the line')}, and the GPU was busy for at most ` +
    `${factIn(worst, 'GPU busy')} of the run`,
  facts: IDLE_FACTS,
  reads: [DEVICE, PYTHON],
  advice:
    'Look at what the line waits for: data that is loaded, another rank, a lock, or a file. Give ' +
    'the data loader more workers, or let it load the next batch while the GPU computes.',
  plots: [plot(DEVICE, 'gpu_busy')],
})

type IdleFinding = Affected<keyof typeof IDLE_FACTS>

function findIdle(run: RunEvidence): readonly IdleFinding[] {
  return run.ranks.flatMap((rank) => {
    const [busiest] = rank
      .things(DEVICE)
      .map((device) => ({ device, busy: mostBusy(device, rank.elapsed) }))
      .filter((one): one is { device: Device; busy: number } => one.busy !== null)
      .sort((a, b) => b.busy - a.busy)
    const line = longestWait(run, rank)
    if (busiest === undefined || line === undefined) return []
    const { device, busy } = busiest
    if (device.rows < MIN_SAMPLES) return []
    const idle = line.seconds - busy
    const part = percentOf(idle, rank.elapsed)
    if (part < GPU_IDLE_IN_PYTHON.threshold.value || idle < MIN_SECONDS) return []
    const facts = listFacts(IDLE_FACTS, {
      'GPU idle while Python waits': part,
      'GPU busy': percentOf(busy, rank.elapsed),
      'waiting in the line': line.seconds,
    })
    return [{ rank: rank.rank, things: [nameOf(device)], lost: idle, cause: line.name, facts }]
  })
}
