import type { SectionColumns } from '../../evidence/evidence.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { joinByPod } from '../../rules/per-pod.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
} from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { MIN_EFFICIENCY, MIN_SECONDS } from '../../rules/time-lost.ts'
import { type LateMember, torchCalls } from './late-calls.ts'
import { TORCH_METRIC } from './torch-run.ts'

/** The fewest calls that are compared. */
const MIN_CALLS = 20
/** The least delay between ranks on several nodes, whose clocks can differ, in seconds. */
const MIN_DELAY_ACROSS = 0.01
const MIN_PERCENT = 100 * (1 - MIN_EFFICIENCY)

const PROCESS = {
  metric: TORCH_METRIC,
  section: 'process',
  columns: ['copies'],
} as const satisfies SectionColumns

const FACTS = {
  'part of the recorded time of the others': 'percent',
  'median delay': 's',
  'last in calls': 'percent',
  'recorded calls': 'count',
  'waiting of the others': 's',
} as const satisfies FactUnits

/** A rank that called collective operations of PyTorch later than the other ranks. */
export const LATE_IN_COLLECTIVES = defineRule({
  name: 'late-in-torch-collectives',
  title: 'Late in collective calls of PyTorch',
  severity: 'slowdown',
  isOptional: true,
  needs: [[{ ...PROCESS, isTotal: true }]],
  threshold: {
    value: MIN_PERCENT,
    unit: 'percent',
    condition:
      'of at least 20 calls of a process group of which all members have rows, a process was the ' +
      'last one in at least half. The time between the calls of the others and its own is at ' +
      'least 20 % of their recorded time and 1 s, on average; on several nodes, the median ' +
      'delay is also at least 10 ms',
    source: 'the POP Centre of Excellence: an efficiency below 80 %; the other numbers: Ridealong',
  },
  find: findLateRanks,
  uncheckedIn: ({ view }) => view(torchCalls).incomparable,
  isRelative: true,
  sentence: (worst) =>
    `called collective operations of PyTorch ${factIn(worst, 'median delay')} later than the ` +
    `other ranks (median), as the last one in ${factIn(worst, 'last in calls')} of ` +
    `${factIn(worst, 'recorded calls')} recorded calls: ${thingsOf(worst)}. The time from the ` +
    'calls of the others to its own is ' +
    `${factIn(worst, 'part of the recorded time of the others')} of their recorded time`,
  facts: FACTS,
  reads: [PROCESS],
  explains: [EXPLAINS_IDLE],
  advice:
    'Look for the reason at this rank: other data, more work than the others, or another finding ' +
    'about it. python-profile shows the line in which it computes or waits. The times are those ' +
    'of the calls: with a GPU, the operation itself begins later, and the others may compute ' +
    'meanwhile (not tried).',
  // The rows are single calls.
  plots: [],
})

type LateRank = Affected<keyof typeof FACTS>

function findLateRanks({ view }: RunEvidence): readonly LateRank[] {
  return joinByPod(view(torchCalls).late.filter(isLate).map(lateRank))
}

function isLate({ calls, delay, waited, part, isAcrossNodes }: LateMember): boolean {
  const isLong = waited >= MIN_SECONDS && 100 * part >= MIN_PERCENT
  return calls >= MIN_CALLS && isLong && (!isAcrossNodes || delay >= MIN_DELAY_ACROSS)
}

function lateRank(member: LateMember): LateRank {
  const { late, description, size, calls, lastCalls, operation, isAcrossNodes } = member
  const { process, group } = late
  const nodes = isAcrossNodes ? ', if the clocks of their nodes agree' : ''
  return {
    pod: member.pod,
    things: [
      `rank ${process.rank} of torch.distributed, mostly ${operation}, process group ` +
        `${description || group.name} with ${size} members${nodes}`,
    ],
    lost: null,
    size: member.waited,
    cause: JSON.stringify([process.source, process.pid, group.name]),
    facts: listFacts(FACTS, {
      'part of the recorded time of the others': 100 * member.part,
      'median delay': member.delay,
      'last in calls': (100 * lastCalls) / calls,
      'recorded calls': calls,
      'waiting of the others': member.waited,
    }),
  }
}
