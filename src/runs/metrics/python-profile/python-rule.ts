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
  'pods compared': 'count',
} as const satisfies FactUnits

/**
 * A pod whose main thread waited longer in a line of Python than those of the others did. Pods
 * that wait for a late pod do so in the same line, so that the late one has another line, in which
 * the others have waited less. For the comparison, see `findLonger`.
 */
export const WAITING_IN_PYTHON = defineRule({
  name: 'waiting-in-python',
  title: 'Waits longer in a line of Python than the other pods',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PYTHON]],
  threshold: {
    value: 100 * MIN_MORE,
    unit: 'percent',
    condition:
      'the main thread of one of at least three pods waited at least 25 % longer in a line of ' +
      'Python (without the functions that it calls) than their median. The difference is at ' +
      'least 10 % of the time in which the thread waited, more than four standard deviations of ' +
      'the pods, and more than four standard deviations of the number of samples. Of several ' +
      'processes of a pod, the mean counts',
    source:
      'as for more time in a function than the other pods; the number 10 %: Ridealong, which ' +
      'compares the waiting of main threads only, since other threads often wait for work',
  },
  find: findWaiting,
  isRelative: true,
  sentence: (worst) =>
    `waited ${factIn(worst, 'above the median')} longer than the median of the pods in ` +
    `${thingsOf(worst)}: ${factIn(worst, 'waiting in the line')}`,
  facts: FACTS,
  reads: [PYTHON],
  advice:
    'Look at what the line waits for: data that is loaded, a lock, a file, or a pause. The other ' +
    'pods may wait for this pod in another line. The flame graph of the report shows which ' +
    'functions called the line.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedPod = Affected<keyof typeof FACTS>

function findWaiting(evidence: RunEvidence): readonly AffectedPod[] {
  return findLonger(evidence, 'waiting', ({ percent, more, self, median, compared }) => {
    return listFacts(FACTS, {
      'more than the median': percent,
      'above the median': more,
      'waiting in the line': self,
      [MEDIAN]: median,
      'pods compared': compared,
    })
  })
}
