import { newReading } from '../../evidence/column-reading.ts'
import {
  type Need,
  need,
  plot,
  type SectionColumns,
  type Thing,
  type ThingOf,
} from '../../evidence/evidence.ts'
import {
  growthOf,
  type PodEvidence,
  podsByName,
  type RunEvidence,
} from '../../evidence/run-evidence.ts'
import { perPod } from '../../rules/per-pod.ts'
import {
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
  type PodFinding,
} from '../../rules/rule.ts'
import { factIn, thingsOf, WAITED_FACTS, waitedText } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import {
  PROCESSOR_TIME_NEEDS,
  PROCESSOR_TIME_READS,
  type ProcessorTime,
  processorTimes,
} from '../processor-time.ts'

/** The metric whose rows describe interfaces, connections and ports. */
export const NETWORK_METRIC = 'network'

const TCP = {
  metric: NETWORK_METRIC,
  section: 'tcp',
  columns: ['out_segments', 'retransmitted', 'timeouts', 'scope'],
} as const satisfies SectionColumns
const SOCKET = {
  metric: NETWORK_METRIC,
  section: 'socket',
  columns: ['send_queue', 'bytes_sent', 'rtt'],
} as const satisfies SectionColumns

/** The fewest segments sent again with which a finding is made. */
const MIN_RETRANSMITTED = 100

const LOSS_FACTS = {
  'segments sent again': 'percent',
  'segments sent again, in total': 'count',
  'segments sent': 'count',
  timeouts: 'count',
} as const satisfies FactUnits

/**
 * TCP segments that were sent again, because no acknowledgement arrived in time: they were lost on
 * the way, or no process listened on the port yet. The time lost is not known, because connections
 * wait side by side.
 *
 * A connection that loses 1 % of its segments can have about 12 of them under way
 * (1.22 / sqrt(loss); Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP
 * Congestion Avoidance Algorithm", 1997). These are 17 kB if each segment fills an Ethernet frame.
 * Between the nodes of a cluster, hardly any segments should be lost.
 */
export const RETRANSMISSIONS = defineRule({
  name: 'retransmissions',
  title: 'Retransmissions',
  severity: 'slowdown',
  area: 'network traffic',
  needs: [[need(TCP, 'out_segments', 'retransmitted')]],
  threshold: {
    value: 1,
    unit: 'percent',
    condition: 'at least 1 % of the TCP segments, and at least 100, were sent again',
    source:
      'Mathis, Semke, Mahdavi and Ott, 1997: at a loss of 1 %, about 12 segments can be under way',
  },
  find: perPod((pod) => pod.things(TCP).map(findLoss)),
  isOfNode: (run, pod) => isOfNode(run, pod),
  sentence: (worst) =>
    `sent ${factIn(worst, 'segments sent again')} of its TCP segments again, because they were ` +
    'not acknowledged in time',
  facts: LOSS_FACTS,
  reads: [TCP],
  advice:
    'Look for lost packets on the way: errors and drops of the interfaces (section interface of ' +
    'the metric network), a full queue of a switch, many processes that send to one at the same ' +
    'time, or a wrong MTU of the network of the pods.',
  plots: [plot(TCP, 'retransmitted')],
})

function findLoss(thing: ThingOf<typeof TCP>): PodFinding<keyof typeof LOSS_FACTS> | undefined {
  const sent = growthOf(thing, 'out_segments') ?? 0
  const again = growthOf(thing, 'retransmitted') ?? 0
  const part = percentOf(again, sent)
  if (part < RETRANSMISSIONS.threshold.value || again < MIN_RETRANSMITTED) return undefined
  return {
    things: [],
    lost: null,
    facts: listFacts(LOSS_FACTS, {
      'segments sent again': part,
      'segments sent again, in total': again,
      'segments sent': sent,
      timeouts: growthOf(thing, 'timeouts'),
    }),
  }
}

/** Reports whether the TCP counters of a pod belong to its node: its pod has hostNetwork. */
function isOfNode({ view }: RunEvidence, name: string): boolean {
  const things = view(podsByName).get(name)?.things(TCP) ?? []
  return things.some(({ readings }) => readings.get('scope')?.text === 'node')
}

/** The value of the column `peer` for another process of the same pod. */
const OWN = 'pod'

const withSockets = (needs: readonly Need[]): readonly Need[] => [
  { ...need(SOCKET, 'send_queue'), canBeEmpty: true },
  ...needs,
]

const QUEUE_FACTS = {
  ...WAITED_FACTS,
  'data in the send queue': 's',
  'largest send queue': 'bytes',
  'CPU time in the samples': 's',
  sent: 'bytes',
} as const satisfies FactUnits

/**
 * A process that, for at least half of the run, had unsent or unacknowledged data for a peer
 * outside its pod, and did not compute: the network or the receiver takes less than the process
 * could send.
 *
 * The time is the least that the rows allow: that with data in the queue, less all the time in
 * which a thread can have computed. The threshold is Ridealong's own: data of a connection that
 * flows is in the queue for a round trip only, far below a millisecond in a cluster.
 */
export const NETWORK_BOUND = defineRule({
  name: 'network-bound',
  title: 'Network-bound',
  severity: 'slowdown',
  area: 'network traffic',
  needs: PROCESSOR_TIME_NEEDS.map(withSockets),
  threshold: {
    value: 50,
    unit: 'percent',
    condition:
      'for at least 50 % of the run, a process had data for another pod in its send queue, which ' +
      'also contains data without an acknowledgement, and did not compute',
    source: 'Ridealong',
  },
  find: perPod(findBound),
  sentence: (worst) =>
    'had a process that did not compute while its data waited to be sent or acknowledged, for ' +
    `at least ${waitedText(worst)}: ${thingsOf(worst)}`,
  facts: QUEUE_FACTS,
  reads: [SOCKET, ...PROCESSOR_TIME_READS],
  isHindrance: true,
  explains: [EXPLAINS_IDLE],
  advice:
    'Send less or in larger messages, place the pods that exchange the most messages on one ' +
    'node, or give them a faster network, such as hostNetwork or a second interface. If only one ' +
    'peer is named, that pod may be the one that does not receive.',
  plots: [plot(SOCKET, 'send_queue')],
})

type QueueFinding = PodFinding<keyof typeof QUEUE_FACTS>

function findBound(pod: PodEvidence): readonly (QueueFinding | undefined)[] {
  const times = timeByProcess(pod)
  return pod.things(SOCKET).map((thing) => {
    const time = times.get(processOf(thing))
    const isToOthers = thing.name !== OWN
    return isToOthers && time !== undefined ? findQueue(pod, thing, time) : undefined
  })
}

type Time = Pick<ProcessorTime, 'seconds' | 'busy'>

/** Returns the CPU time of each process, with that of all programs which it ran. */
function timeByProcess(pod: PodEvidence): ReadonlyMap<string, Time> {
  const times = new Map<string, Time>()
  for (const { thing, seconds, busy } of processorTimes(pod)) {
    const before = times.get(processOf(thing)) ?? { seconds: 0, busy: 0 }
    const sum = { seconds: before.seconds + seconds, busy: before.busy + busy }
    times.set(processOf(thing), sum)
  }
  return times
}

/** @param time the CPU time of the process */
function findQueue(
  { elapsed }: PodEvidence,
  thing: ThingOf<typeof SOCKET>,
  { seconds, busy }: Time,
): QueueFinding | undefined {
  const queue = thing.readings.get('send_queue') ?? newReading()
  const lost = Math.max(queue.busy - busy, 0)
  const part = percentOf(lost, elapsed)
  if (part < NETWORK_BOUND.threshold.value || lost < MIN_SECONDS) return undefined
  return {
    things: [`${thing.program} ${thing.pid} to ${thing.name}`],
    lost,
    facts: listFacts(QUEUE_FACTS, {
      'time waiting': part,
      'time in the samples': elapsed,
      'data in the send queue': queue.busy,
      'largest send queue': queue.most ?? 0,
      'CPU time in the samples': seconds,
      sent: growthOf(thing, 'bytes_sent'),
    }),
  }
}

/**
 * Returns the container and process id of a thing. A process has the same id in all metrics,
 * because the containers of an observed pod share their process namespace.
 */
function processOf({ container, pid }: Thing): string {
  return `${container} ${pid}`
}
