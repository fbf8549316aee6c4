import type { SectionColumns } from '../../evidence/evidence.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { MIN_MORE } from '../../profiles/differences.ts'
import { findLonger, MEDIAN } from '../../rules/longer-than-median.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { PYTHON_METRIC } from './current-stacks.ts'

/** The columns with the time of main threads of Python. */
export const PYTHON = {
  metric: PYTHON_METRIC,
  section: 'process',
  columns: ['main_seconds', 'main_running'],
} as const satisfies SectionColumns

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
 * the others have waited less. For the comparison, see `findLonger`.
 */
export const WAITING_IN_PYTHON = defineRule({
  name: 'waiting-in-python',
  title: 'Waits longer in a line of Python than the other ranks',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PYTHON]],
  threshold: {
    value: 100 * MIN_MORE,
    unit: 'percent',
    condition:
      'the main thread of one of at least three ranks waited at least 25 % longer in a line of ' +
      'Python (without the functions that it calls) than their median. The difference is at ' +
      'least 10 % of the time in which the thread waited, more than four standard deviations of ' +
      'the ranks, and more than four standard deviations of the number of samples. Of several ' +
      'processes of a rank, the mean counts',
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

function findWaiting(evidence: RunEvidence): readonly AffectedRank[] {
  return findLonger(evidence, 'waiting', ({ percent, more, self, median, compared }) => {
    return listFacts(FACTS, {
      'more than the median': percent,
      'above the median': more,
      'waiting in the line': self,
      [MEDIAN]: median,
      'ranks compared': compared,
    })
  })
}
