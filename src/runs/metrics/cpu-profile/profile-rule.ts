import type { SectionColumns } from '../../evidence/evidence.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { MIN_MORE } from '../../profiles/differences.ts'
import { findLonger, MEDIAN } from '../../rules/longer-than-median.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'

export const CPU_PROFILE_METRIC = 'cpu-profile'

const PROFILE = {
  metric: CPU_PROFILE_METRIC,
  section: 'process',
  columns: ['cpu_seconds'],
} as const satisfies SectionColumns

const FACTS = {
  'more than the median': 'percent',
  'above the median': 's',
  'processor time in the function': 's',
  [MEDIAN]: 's',
  'pods compared': 'count',
} as const satisfies FactUnits

/**
 * A pod that used more processor time in a function than the others did. This shows uneven work
 * also if the other pods wait in a loop, as ranks of MPI do, so that all of them use the same CPU
 * time. For the comparison, see `findLonger`.
 */
export const MORE_TIME_IN_FUNCTION = defineRule({
  name: 'more-time-in-function',
  title: 'More time in a function than the other pods',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PROFILE]],
  threshold: {
    value: 100 * MIN_MORE,
    unit: 'percent',
    condition:
      'one of at least three pods used at least 25 % more processor time in a function (without ' +
      'the functions that it calls) than their median. The difference is at least 10 % of the ' +
      'processor time of the pod, more than four standard deviations of the pods, and more ' +
      'than four standard deviations of the number of samples',
    source:
      'the POP Centre of Excellence: a load balance below 80 %; the outliers of the report; ' +
      'the standard deviation of a number of samples is its square root (Poisson); the number ' +
      '10 %: Ridealong',
  },
  find: findMoreTime,
  uncheckedIn: podsWithoutProfile,
  isRelative: true,
  sentence: (worst) =>
    `used ${factIn(worst, 'above the median')} more processor time than the median of the pods ` +
    `in ${thingsOf(worst)}: ${factIn(worst, 'processor time in the function')}, ` +
    moreWords(worst),
  facts: FACTS,
  reads: [PROFILE],
  advice:
    'If the function computes, divide its work more evenly, or give this pod other input. If it ' +
    'waits, as functions of MPI and of locks do, look for the process or thread that it waits ' +
    'for. The flame graph of the report shows which functions called it.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedPod = Affected<keyof typeof FACTS>

function moreWords(worst: AffectedPod): string {
  const isUnused = worst.facts.some(({ name, value }) => name === MEDIAN && value === 0)
  return isUnused
    ? 'at least half of the pods used none'
    : `${factIn(worst, 'more than the median')} more`
}

function findMoreTime(evidence: RunEvidence): readonly AffectedPod[] {
  return findLonger(evidence, 'processor', ({ percent, more, self, median, compared }) => {
    return listFacts(FACTS, {
      'more than the median': percent,
      'above the median': more,
      'processor time in the function': self,
      [MEDIAN]: median,
      'pods compared': compared,
    })
  })
}

/** Returns the pods that were not compared, because a profile is not complete. */
function podsWithoutProfile({ profiles }: RunEvidence): ReadonlyMap<string, string> {
  const names = profiles.flatMap(({ pods, incomplete }) =>
    pods.filter((_, index) => (incomplete[index]?.length ?? 0) > 0),
  )
  return new Map(names.map((pod) => [pod, 'a profile of the pod is incomplete or missing']))
}
