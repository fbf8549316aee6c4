import { newReading } from './column-reading.ts'
import type { Need, Thing } from './evidence.ts'
import { perRank, type RankFinding } from './per-rank.ts'
import { PROCESSOR_TIME_NEEDS, processorTimes } from './processor-time.ts'
import type { FindingRule } from './rule.ts'
import { growthOf, type RankEvidence, type RunEvidence } from './run-evidence.ts'
import { factIn, thingsOf } from './sentence.ts'
import { FEWEST_SECONDS, percentOf } from './time-lost.ts'

const TCP = { metric: 'network', section: 'tcp' }
const SOCKET = { metric: 'network', section: 'socket' }

/** The least time until a segment without an answer is sent again (kernel, TCP_RTO_MIN: 200 ms). */
const SHORTEST_TIMEOUT = 0.2

/** The fewest segments sent again with which a finding is made. */
const FEWEST_RETRANSMITTED = 100

/**
 * TCP segments that were sent again, because they or their acknowledgements were lost.
 *
 * A connection that loses 1 % of its segments can have about 12 of them under way
 * (1.22 / sqrt(loss); Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP
 * Congestion Avoidance Algorithm", 1997). These are 17 kB if each segment fills an Ethernet frame.
 * Between the nodes of a cluster, hardly any segments should be lost.
 */
export const RETRANSMISSIONS: FindingRule = {
  name: 'retransmissions',
  title: 'Retransmissions',
  severity: 'slowdown',
  needs: [[{ ...TCP, columns: ['out_segments', 'retransmitted'] }]],
  alsoReads: [{ ...TCP, columns: ['timeouts', 'scope'] }],
  threshold: {
    value: 1,
    unit: 'percent',
    condition: 'at least 1 % of the TCP segments, and at least 100, were sent again',
    source:
      'Mathis, Semke, Mahdavi and Ott, 1997: at a loss of 1 %, about 12 segments can be under way',
  },
  find: perRank((rank) => rank.things('network', 'tcp').map((thing) => findLoss(rank, thing))),
  isOfNode: (run, rank) => isOfNode(run, rank),
  sentence: (worst) =>
    `sent ${factIn(worst, 'segments sent again')} of its TCP segments again, because they were ` +
    'lost on the way',
  advice:
    'Look for lost packets on the way: errors and drops of the interfaces (section interface of ' +
    'the metric network), a full queue of a switch, many ranks that send to one at the same ' +
    'time, or a wrong MTU of the network of the pods.',
  plots: [{ ...TCP, column: 'retransmitted' }],
}

function findLoss({ elapsed }: RankEvidence, thing: Thing): RankFinding | undefined {
  const sent = growthOf(thing, 'out_segments') ?? 0
  const again = growthOf(thing, 'retransmitted') ?? 0
  const timeouts = growthOf(thing, 'timeouts')
  const part = percentOf(again, sent)
  if (part < RETRANSMISSIONS.threshold.value || again < FEWEST_RETRANSMITTED) return undefined
  return {
    things: [],
    lost: timeouts === null ? null : Math.min(timeouts * SHORTEST_TIMEOUT, elapsed),
    facts: [
      { name: 'segments sent again', value: part, unit: 'percent' },
      { name: 'segments sent again, in total', value: again, unit: 'count' },
      { name: 'segments sent', value: sent, unit: 'count' },
      ...(timeouts === null
        ? []
        : [{ name: 'timeouts, each of at least 0.2 s', value: timeouts, unit: 'count' } as const]),
    ],
  }
}

/** Reports whether the TCP counters of a rank belong to its node: its pod has hostNetwork. */
function isOfNode({ ranks }: RunEvidence, name: string): boolean {
  const rank = ranks.find((one) => one.rank === name)
  const things = rank?.things('network', 'tcp') ?? []
  return things.some(({ readings }) => readings.get('scope')?.text === 'node')
}

/** The value of the column `peer` for another process of the same pod. */
const OWN = 'pod'

const withSockets = (need: readonly Need[]): readonly Need[] => [
  { ...SOCKET, columns: ['send_queue'] },
  ...need,
]

/**
 * A process that, for at least half of the run, had unsent or unacknowledged data for a peer
 * outside its pod, and did not compute: the network or the receiver takes less than the process
 * could send.
 *
 * Source of the measure: Brendan Gregg's USE method, saturation of the network, where a queue that
 * is not empty is saturation. Half of the run is Ridealong's own threshold: data of a connection
 * that flows stays in the queue only for a round trip, far below a millisecond in a cluster.
 */
export const NETWORK_BOUND: FindingRule = {
  name: 'network-bound',
  title: 'Network-bound',
  severity: 'slowdown',
  needs: PROCESSOR_TIME_NEEDS.map(withSockets),
  alsoReads: [{ ...SOCKET, columns: ['bytes_sent', 'rtt'] }],
  threshold: {
    value: 50,
    unit: 'percent',
    condition:
      'for at least 50 % of the run, a process had data for another pod in its send queue and ' +
      'did not compute',
    source:
      'the measure: the USE method of Brendan Gregg, saturation of the network; ' +
      'the number: Ridealong',
  },
  find: perRank(findBound),
  sentence: (worst) =>
    `waited for the network for ${factIn(worst, 'time waiting')} of the run: data of ` +
    `${thingsOf(worst)} could not be sent`,
  advice:
    'Send less or in larger messages, place the ranks that talk most on one node, or give them a ' +
    'faster network, such as hostNetwork or a second interface. If only one peer is named, that ' +
    'rank may be the one that does not receive.',
  plots: [{ ...SOCKET, column: 'send_queue' }],
}

function findBound(rank: RankEvidence): readonly (RankFinding | undefined)[] {
  const times = new Map(
    processorTimes(rank).map(({ thing, seconds }) => [processOf(thing), seconds] as const),
  )
  return rank.things('network', 'socket').map((thing) => {
    const ran = times.get(processOf(thing))
    const isToOthers = thing.name !== OWN
    return isToOthers && ran !== undefined ? findQueue(rank, thing, ran) : undefined
  })
}

/** @param ran the CPU seconds of the process */
function findQueue({ elapsed }: RankEvidence, thing: Thing, ran: number): RankFinding | undefined {
  const queue = thing.readings.get('send_queue') ?? newReading()
  const lost = Math.min(queue.busy, Math.max(elapsed - ran, 0))
  const part = percentOf(lost, elapsed)
  if (part < NETWORK_BOUND.threshold.value || lost < FEWEST_SECONDS) return undefined
  const sent = growthOf(thing, 'bytes_sent')
  return {
    things: [`${thing.program} ${thing.pid} to ${thing.name}`],
    lost,
    facts: [
      { name: 'time waiting', value: part, unit: 'percent' },
      { name: 'data in the send queue', value: queue.busy, unit: 's' },
      { name: 'largest send queue', value: queue.most ?? 0, unit: 'bytes' },
      { name: 'CPU time', value: ran, unit: 's' },
      ...(sent === null ? [] : [{ name: 'sent', value: sent, unit: 'bytes' } as const]),
    ],
  }
}

/**
 * Returns the container and process id of a thing. A process has the same id in all metrics,
 * because the containers of an observed pod share their process namespace.
 */
function processOf({ container, pid }: Thing): string {
  return `${container} ${pid}`
}
