import { median, minimum } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { OTHER, type ProfileKind } from '../../profiles/profile-run.ts'
import {
  perProcess,
  type RankedFunction,
  type RankedProfile,
} from '../../profiles/ranked-profile.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
} from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import { PYTHON } from './python-rule.ts'

/** The least part of their time that all other ranks wait in the line, in percent. */
const MIN_PERCENT = 10
/** The most that the late rank waits in the line, as a part of the wait of any other rank. */
const MAX_OWN = 0.25
/** The least that the late rank runs more, as a part of what the others wait more. */
const MIN_MORE = 0.5
/** The times that the rule reads. */
const KINDS: readonly ProfileKind[] = ['waiting', 'running']
/** The fewest ranks: of two ranks, each could be the one that waits for the other. */
const MIN_RANKS = 3

const FACTS = {
  'least part of the time of the others': 'percent',
  'least wait of the others': 's',
  'wait of this rank': 's',
  'more running than the median': 's',
  'ranks that wait': 'count',
} as const satisfies FactUnits

/**
 * A rank that runs while all other ranks wait in the same line of Python, such as that of a
 * collective call. The rank may also wait for something else; then `waiting-in-python` names the
 * line.
 */
export const ALL_WAIT_FOR_ONE = defineRule({
  name: 'all-wait-for-one',
  title: 'Runs while all other ranks wait in Python',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PYTHON]],
  threshold: {
    value: MIN_PERCENT,
    unit: 'percent',
    condition:
      'of at least three ranks, the main threads of all but one waited in the same line of ' +
      'Python for at least 10 % of their time, and at least 1 s. The late rank waited there for ' +
      'at most a quarter of the shortest wait of the others, and ran longer than their median, ' +
      'by at least half of the difference. Of several processes of a rank, the mean counts',
    source: 'a load balance: the POP Centre of Excellence; the numbers: Ridealong',
  },
  find: findLate,
  isRelative: true,
  sentence: (worst) =>
    `held up all other ranks: they waited at least ${factIn(worst, 'least wait of the others')} ` +
    `in ${worst.cause}, and it waited ${factIn(worst, 'wait of this rank')} there. It ran ` +
    `${factIn(worst, 'more running than the median')} longer than their median, most of it in ` +
    thingsOf(worst),
  facts: FACTS,
  reads: [PYTHON],
  explains: [EXPLAINS_IDLE],
  advice:
    'Look at what this rank does in the line in which it runs: it may have more data, other ' +
    'input, or work that only one rank does, such as writing a file. Divide the work more ' +
    'evenly, or do it less often. The flame graph of the report shows which functions called ' +
    'the line.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedRank = Affected<keyof typeof FACTS>

function findLate({ profiles, ranks }: RunEvidence): readonly AffectedRank[] {
  const read = new Set(ranks.map(({ rank }) => rank))
  const means = profiles.filter(({ kind }) => KINDS.includes(kind)).map(perProcess)
  const programs = Map.groupBy(means, ({ executable }) => executable)
  const found = [...programs.values()].flatMap((own) => {
    const waiting = own.find(({ kind }) => kind === 'waiting')
    const running = own.find(({ kind }) => kind === 'running')
    if (waiting === undefined || running === undefined) return []
    const times = rankTimes(waiting, running)
    const late = waiting.functions.flatMap((line) => lateIn(line, times))
    // Of several lines, such as those of one loop, the one in which the others wait longest.
    const [worst] = late.sort((a, b) => (b.size ?? 0) - (a.size ?? 0))
    return worst === undefined ? [] : { ...worst, things: [mostIn(running, worst.rank)] }
  })
  return found.filter(({ rank }) => read.has(rank))
}

/** The seconds of a rank in a program. */
interface RankTimes {
  readonly rank: string
  /** The index of the rank in the profile of the waiting; undefined if it is not there. */
  readonly place: number | undefined
  readonly runs: number
  readonly whole: number
}

function rankTimes(waiting: RankedProfile, running: RankedProfile): readonly RankTimes[] {
  const [waits, runs] = [waiting, running].map(
    ({ ranks, seconds }) => new Map(ranks.map((rank, index) => [rank, seconds[index] ?? 0])),
  )
  const places = new Map(waiting.ranks.map((rank, index) => [rank, index]))
  return [...new Set([...waiting.ranks, ...running.ranks])].map((rank) => {
    const own = runs?.get(rank) ?? 0
    return { rank, place: places.get(rank), runs: own, whole: own + (waits?.get(rank) ?? 0) }
  })
}

/** Finds the rank for which all others wait in a line. */
function lateIn(
  { name, times }: RankedFunction,
  all: readonly RankTimes[],
): readonly Omit<AffectedRank, 'things'>[] {
  // A rank without a time in the line does not wait there.
  if (name === OTHER || all.length < MIN_RANKS || times.size < all.length - 1) return []
  const [own, ...others] = all
    .map((one) => ({ ...one, waits: times.get(one.place ?? -1)?.self ?? 0 }))
    .sort((a, b) => a.waits - b.waits)
  const [least] = others
  if (own === undefined || least === undefined) return []
  const percent = leastPercent(others)
  const isWaiting = percent >= MIN_PERCENT && least.waits >= MIN_SECONDS
  const more = own.runs - (median(others.map(({ runs }) => runs)) ?? 0)
  const difference = least.waits - own.waits
  if (!isWaiting || own.waits > MAX_OWN * least.waits || more < MIN_MORE * difference) return []
  const facts = listFacts(FACTS, {
    'least part of the time of the others': percent,
    'least wait of the others': least.waits,
    'wait of this rank': own.waits,
    'more running than the median': more,
    'ranks that wait': others.length,
  })
  return [{ rank: own.rank, lost: null, size: difference, cause: name, facts }]
}

function leastPercent(others: readonly { readonly waits: number; readonly whole: number }[]) {
  return minimum(others.map(({ waits, whole }) => percentOf(waits, whole))) ?? 0
}

/** Returns the line in which a rank runs longer than the median of the others by most. */
function mostIn({ ranks, functions }: RankedProfile, rank: string): string {
  const index = ranks.indexOf(rank)
  const more = functions.map(({ name, times }) => {
    const others = ranks.flatMap((_, at) => (at === index ? [] : (times.get(at)?.self ?? 0)))
    return { name, more: (times.get(index)?.self ?? 0) - (median(others) ?? 0) }
  })
  return more.sort((a, b) => b.more - a.more)[0]?.name ?? OTHER
}
