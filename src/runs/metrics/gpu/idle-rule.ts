import { need, plot, type SectionColumns, type ThingOf } from '../../evidence/evidence.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { longestWaits } from '../../rules/longest-wait.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import { PYTHON } from '../python-profile/python-rule.ts'

export const GPU_METRIC = 'gpu'

/** The rows about GPUs. */
export const DEVICE = {
  metric: GPU_METRIC,
  section: 'device',
  columns: ['gpu_busy', 'memory_used', 'memory_total', 'power_limited', 'heat_limited'],
} as const satisfies SectionColumns

export type Device = ThingOf<typeof DEVICE>

/** The fewest samples of a GPU of which parts of the time are computed. */
export const MIN_SAMPLES = 10

export const nameOf = ({ name }: Device) => `GPU ${name}`

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
      'calls): this wait, less the time in which the busiest GPU of the pod was busy, is at ' +
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
    'Look at what the line waits for: data that is loaded, another process, a lock, or a file. ' +
    'Give the data loader more workers, or let it load the next batch while the GPU computes.',
  plots: [plot(DEVICE, 'gpu_busy')],
})

type IdleFinding = Affected<keyof typeof IDLE_FACTS>

function findIdle(run: RunEvidence): readonly IdleFinding[] {
  return run.pods.flatMap((pod) => {
    const [busiest] = pod
      .things(DEVICE)
      .map((device) => ({ device, busy: mostBusy(device, pod.elapsed) }))
      .filter((one): one is { device: Device; busy: number } => one.busy !== null)
      .sort((a, b) => b.busy - a.busy)
    const line = run.view(longestWaits).get(pod.pod)
    if (busiest === undefined || line === undefined) return []
    const { device, busy } = busiest
    if (device.rows < MIN_SAMPLES) return []
    const idle = line.seconds - busy
    const part = percentOf(idle, pod.elapsed)
    if (part < GPU_IDLE_IN_PYTHON.threshold.value || idle < MIN_SECONDS) return []
    const facts = listFacts(IDLE_FACTS, {
      'GPU idle while Python waits': part,
      'GPU busy': percentOf(busy, pod.elapsed),
      'waiting in the line': line.seconds,
    })
    return [{ pod: pod.pod, things: [nameOf(device)], lost: idle, cause: line.name, facts }]
  })
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
