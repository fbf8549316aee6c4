import type { RunEvidence } from '../evidence/run-evidence.ts'
import { METRICS } from '../metrics/index.ts'
import { type Affected, defineRule, EXPLAINS_IDLE, type FactUnits } from '../rules/rule.ts'
import type { StuckFinder } from '../rules/stuck.ts'

/** How each metric shows that processes make no progress. */
const FINDERS = METRICS.flatMap((metric): readonly StuckFinder[] =>
  'stuck' in metric ? [metric.stuck] : [],
)

/** The findings that processes without progress explain. */
const EXPLAINED = METRICS.flatMap((metric) =>
  'stuck' in metric && 'explains' in metric.stuck ? [metric.stuck.explains] : [],
)

/** Processes that make no progress, because they wait for each other, or one does not come. */
export const NO_PROGRESS = defineRule({
  name: 'no-progress',
  title: 'No progress',
  severity: 'failure',
  isOptional: true,
  needs: FINDERS.flatMap(({ needs }) => needs).map((need) => [need]),
  threshold: {
    value: 10,
    unit: 's',
    condition: FINDERS.map(({ condition }) => condition).join('. '),
    source: [...FINDERS.map(({ source }) => source), 'the numbers: Ridealong'].join('; '),
  },
  find: findStuck,
  isWholeText: true,
  sentence: ({ stuck }) => stuck?.describe() ?? '',
  facts: Object.assign({}, ...FINDERS.map(({ facts }) => facts)) as FactUnits,
  reads: FINDERS.flatMap(({ reads }) => reads),
  explains: [...EXPLAINED, EXPLAINS_IDLE],
  advice:
    'Look at the process that has not come: its log, its stack, and other findings about it. If ' +
    'processes wait for each other, compare the order of their calls: blocking sends in a circle ' +
    'need MPI_Sendrecv or MPI_Isend, and all members of a communicator must make its collective ' +
    'calls in the same order. A job that makes no progress still uses its processors: end it.',
  plots: FINDERS.flatMap(({ plots = [] }) => plots),
})

function findStuck(run: RunEvidence): readonly Affected[] {
  const groups = FINDERS.flatMap(({ find }) => find(run))
  return groups.flatMap((stuck, place) => {
    // Each group has a finding of its own.
    const cause = String(place)
    return stuck.pods.map((one) => ({ ...one, cause, stuck }))
  })
}
