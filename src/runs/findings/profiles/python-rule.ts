import { type DifferingRank, findDifferences, LEAST_MORE } from '../../profiles/differences.ts'
import type { SectionColumns } from '../evidence.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../rule.ts'
import type { RunEvidence } from '../run-evidence.ts'
import { factIn, thingsOf } from '../sentence.ts'
import { FEWEST_SECONDS, percentOf } from '../time-lost.ts'

const PYTHON = {
  metric: 'python-profile',
  section: 'process',
  columns: ['main_seconds', 'main_running'],
} as const satisfies SectionColumns

/** The least additional time in the line, in percent of the time in which the rank waited. */
const LEAST_PART = 10

const MEDIAN = 'median of the ranks'

const FACTS = {
  'more than the median': 'percent',
  'above the median': 's',
  'waiting in the line': 's',
  [MEDIAN]: 's',
  'ranks compared': 'count',
} as const satisfies FactUnits

/**
 * A rank whose main thread waited longer in a line of Python than those of the others did. Ranks
 * that wait for a late rank do so in the same line, so that the late one has another line, in which
 * the others have waited less. For the comparison, see `findDifferences`.
 *
 * The samples do not show whether other ranks waited for this rank, so no time is known to be lost.
 */
export const WAITING_IN_PYTHON = defineRule({
  name: 'waiting-in-python',
  title: 'Waits longer in a line of Python than the other ranks',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PYTHON]],
  threshold: {
    value: 100 * LEAST_MORE,
    unit: 'percent',
    condition:
      'the main thread of one of at least three ranks waited at least 25 % longer in a line of ' +
      'Python (without the functions that it calls) than their median. The difference is at ' +
      'least 10 % of the time in which the thread waited, more than four standard deviations of ' +
      'the ranks, and more than four standard deviations of the number of samples',
    source:
      'as for more time in a function than the other ranks; the number 10 %: Ridealong, which ' +
      'compares the waiting of main threads only, since other threads often wait for work',
  },
  find: findWaiting,
  isRelative: true,
  sentence: (worst) =>
    `waited ${factIn(worst, 'above the median')} longer than the median of the ranks in ` +
    `${thingsOf(worst)}: ${factIn(worst, 'waiting in the line')}`,
  facts: FACTS,
  reads: [PYTHON],
  advice:
    'Look at what the line waits for: data that is loaded, a lock, a file, or a pause. The other ' +
    'ranks may wait for this rank in another line. The flame graph of the report shows which ' +
    'functions called the line.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedRank = Affected<keyof typeof FACTS>

function findWaiting({ profiles, ranks }: RunEvidence): readonly AffectedRank[] {
  const read = new Set(ranks.map(({ rank }) => rank))
  const found = profiles
    .filter(({ kind }) => kind === 'waiting')
    .flatMap(findDifferences)
    .flatMap((difference) => difference.ranks.filter(isLong).map((one) => ({ difference, one })))
    .filter(({ one }) => read.has(one.rank))
    .sort((a, b) => a.one.more - b.one.more)
  // Of the lines of a rank, the last one has the most additional time.
  const worst = new Map(
    found.map(({ difference: { name, median, compared }, one }) => [
      one.rank,
      {
        rank: one.rank,
        things: [name],
        lost: null,
        size: one.more,
        cause: name,
        facts: listFacts(FACTS, {
          // Of a line in which the other ranks do not wait, all of the time is additional.
          'more than the median': median > 0 ? percentOf(one.more, median) : 100,
          'above the median': one.more,
          'waiting in the line': one.self,
          [MEDIAN]: median,
          'ranks compared': compared,
        }),
      },
    ]),
  )
  return [...worst.values()]
}

function isLong({ more, whole }: DifferingRank): boolean {
  return more >= FEWEST_SECONDS && percentOf(more, whole) >= LEAST_PART
}
