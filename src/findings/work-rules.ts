import { groupBy } from '../report/group-by.ts'
import { median } from '../report/statistics.ts'
import { PROCESSOR_TIME_NEEDS, timeByProgram } from './processor-time.ts'
import type { Affected, FindingRule, FoundRanks, PlottedColumn, RuleName } from './rule.ts'
import type { RankEvidence, RunEvidence } from './run-evidence.ts'
import { factIn, thingsOf } from './sentence.ts'
import { FEWEST_SECONDS, percentOf } from './time-lost.ts'

const PLOTS: readonly PlottedColumn[] = [
  { metric: 'perf-sysstat', section: 'process', column: 'percent_cpu' },
  { metric: 'pressure', section: 'process', column: 'cpu_time' },
]

/** The fewest ranks that are compared: of two ranks, neither can be called the unusual one. */
const FEWEST_RANKS = 3

/** The least time that the additional work takes, in percent of the run. */
const LEAST_PART = 10

/**
 * A rank that used more CPU time than the others did in the same program.
 *
 * The CPU time must be at least a quarter above the median: the POP Centre of Excellence calls a
 * load balance (the mean divided by the maximum) below 80 % a problem. It must also be an outlier:
 * more than four standard deviations above the median, estimated by the median absolute deviation,
 * as for outliers in the report (Iglewicz and Hoaglin, 1993, propose 3.5). Ranks with a finding of
 * `HINDRANCES` are not compared, because they could not work as the others did.
 */
export const MORE_WORK: FindingRule = {
  name: 'more-work',
  title: 'More work than the other ranks',
  severity: 'slowdown',
  needs: PROCESSOR_TIME_NEEDS,
  threshold: {
    value: 25,
    unit: 'percent',
    condition:
      'of at least three ranks, one used at least 25 % more CPU time in a program than their ' +
      'median, is more than four standard deviations above it, estimated by the median absolute ' +
      'deviation, and computed at least 10 % of the run longer',
    source:
      'the POP Centre of Excellence: a load balance below 80 %; outliers: Iglewicz and ' +
      'Hoaglin, 1993',
  },
  find: findMoreWork,
  isRelative: true,
  sentence: (worst) =>
    `used ${factIn(worst, 'CPU time')} of CPU time in ${thingsOf(worst)}, ` +
    `${factIn(worst, 'more than the median')} more than the median of the ranks, ` +
    `${factIn(worst, 'median of the ranks')}; the others wait for it`,
  advice:
    'Divide the work more evenly: with the load balancing of the application (balance in LAMMPS, ' +
    'for example), another decomposition, or other input for this rank.',
  plots: PLOTS,
}

/** The findings whose ranks are not compared with the others. */
const HINDRANCES: readonly RuleName[] = [
  'oom-killed',
  'memory-pressure',
  'swapping',
  'throttled',
  'pinned-to-same-core',
  'waiting-for-cpu',
  'waiting-for-storage',
  'retransmissions',
  'network-bound',
]

interface Worker {
  readonly rank: RankEvidence
  readonly program: string
  readonly seconds: number
}

function findMoreWork({ ranks }: RunEvidence, found: FoundRanks): readonly Affected[] {
  const isHindered = (rank: string) => HINDRANCES.some((name) => found.get(name)?.has(rank))
  const workers = ranks
    .filter(({ rank }) => !isHindered(rank))
    .flatMap((rank) =>
      [...timeByProgram(rank)].map(([program, seconds]) => ({ rank, program, seconds })),
    )
  const byRank = new Map<string, Overloaded>()
  for (const own of groupBy(workers, ({ program }) => program).values())
    for (const one of findOverloaded(own))
      if ((byRank.get(one.rank)?.lost ?? 0) < one.lost) byRank.set(one.rank, one)
  return [...byRank.values()]
}

type Overloaded = Affected & { readonly lost: number }

function findOverloaded(workers: readonly Worker[]): readonly Overloaded[] {
  if (workers.length < FEWEST_RANKS) return []
  const all = workers.map(({ seconds }) => seconds)
  const middle = median(all) ?? 0
  const deviation = 1.4826 * (median(all.map((seconds) => Math.abs(seconds - middle))) ?? 0)
  return workers.flatMap(({ rank, program, seconds }) => {
    const more = seconds - middle
    const part = middle > 0 ? percentOf(more, middle) : Number.POSITIVE_INFINITY
    const width = Math.max(seconds / Math.max(rank.elapsed, 1), 1)
    const lost = more / width
    const isOutlier = more > 4 * deviation && part >= MORE_WORK.threshold.value
    const isLong = lost >= FEWEST_SECONDS && percentOf(lost, rank.elapsed) >= LEAST_PART
    if (!isOutlier || !isLong || middle === 0) return []
    return [
      {
        rank: rank.rank,
        things: [program],
        lost,
        facts: [
          { name: 'more than the median', value: part, unit: 'percent' },
          { name: 'CPU time', value: seconds, unit: 's' },
          { name: 'median of the ranks', value: middle, unit: 's' },
          { name: 'ranks compared', value: workers.length, unit: 'count' },
        ],
      },
    ]
  })
}

/** The shortest run in which a rank is called idle; in a shorter one, it may still be starting. */
const FEWEST_IDLE_SECONDS = 30

/**
 * A rank whose processes hardly computed, although the rows do not show anything that kept them
 * from computing.
 *
 * The threshold is Ridealong's own. If other ranks are busy, a rank that runs none of their busy
 * programs, such as the launcher of an MPIJob, is expected to be idle.
 */
export const MOSTLY_IDLE: FindingRule = {
  name: 'mostly-idle',
  title: 'Mostly idle',
  severity: 'slowdown',
  needs: PROCESSOR_TIME_NEEDS,
  threshold: {
    value: 10,
    unit: 'percent',
    condition:
      'the processes of a rank together used less than 10 % of one processor in a run of at ' +
      'least 30 s, and no other finding explains it',
    source: 'Ridealong',
  },
  find: findIdle,
  isRelative: true,
  sentence: (worst) =>
    `used ${factIn(worst, 'use of a processor')} of one processor on average, and none of the ` +
    'other rules says why',
  advice:
    'Look at the output of the application: it may wait for input, for another service or for a ' +
    'rank that did not start, or have less work than ranks. Use fewer ranks if they are not ' +
    'needed.',
  plots: PLOTS,
}

function findIdle({ ranks }: RunEvidence): readonly Affected[] {
  const used = ranks.map((rank) => {
    const programs = timeByProgram(rank)
    const seconds = [...programs.values()].reduce((sum, own) => sum + own, 0)
    const part = percentOf(seconds, rank.elapsed)
    return { rank, programs, seconds, part, isIdle: part < MOSTLY_IDLE.threshold.value }
  })
  const busy = used.filter(({ isIdle }) => !isIdle)
  const working = new Set(
    busy.flatMap(({ rank, programs }) =>
      [...programs].flatMap(([program, seconds]) => {
        return percentOf(seconds, rank.elapsed) >= MOSTLY_IDLE.threshold.value ? program : []
      }),
    ),
  )
  return used.flatMap(({ rank, programs, seconds, part, isIdle }) => {
    const isMeant = busy.length > 0 && ![...programs.keys()].some((one) => working.has(one))
    const isShort = rank.elapsed < FEWEST_IDLE_SECONDS || programs.size === 0
    if (!isIdle || isMeant || isShort) return []
    return [
      {
        rank: rank.rank,
        things: [...programs.keys()],
        lost: rank.elapsed - seconds,
        facts: [
          { name: 'use of a processor', value: part, unit: 'percent' },
          { name: 'CPU time', value: seconds, unit: 's' },
          { name: 'length of the run', value: rank.elapsed, unit: 's' },
        ],
      },
    ]
  })
}
