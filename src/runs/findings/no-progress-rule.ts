import type { SectionColumns } from '../evidence/evidence.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import { METRICS } from '../metrics/index.ts'
import { CONTAINERS } from '../metrics/usual-sections.ts'
import { type Affected, defineRule, EXPLAINS_IDLE, type FactUnits } from '../rules/rule.ts'
import { lastEnds, type StuckFinder } from '../rules/stuck.ts'

/** How each metric shows that processes make no progress. */
const FINDERS = METRICS.flatMap((metric): readonly StuckFinder[] =>
  'stuck' in metric ? [metric.stuck] : [],
)

/** The findings that processes without progress explain. */
const EXPLAINED = METRICS.flatMap((metric) =>
  'stuck' in metric && 'explains' in metric.stuck ? [metric.stuck.explains] : [],
)

/** The cause, if the processes of a finding have ended. */
const ENDED = 'the job has ended'

const LOOK = 'Look at the process that has not come: its log,'
const COMPARE =
  'and other findings about it. If processes wait for each other, compare the order of their ' +
  'calls: blocking sends in a circle need MPI_Sendrecv or MPI_Isend, and all members of a ' +
  'communicator must make its collective calls in the same order, with the same root and ' +
  'operation, and with counts and datatypes that match.'
const END = 'A job that makes no progress still uses its processors: end it.'

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
  advice: `${LOOK} its stack, ${COMPARE} ${END}`,
  adviceByCause: { [ENDED]: `${LOOK} ${COMPARE}` },
  plots: FINDERS.flatMap(({ plots = [] }) => plots),
})

function findStuck(run: RunEvidence): readonly Affected[] {
  return FINDERS.flatMap(({ find }) => find(run)).flatMap((stuck) => {
    const pods = new Set(stuck.pods.map(({ pod }) => pod))
    const hasEnded =
      stuck.hasEnded === true || run.pods.every((one) => !pods.has(one.pod) || hasAllEnded(one))
    return stuck.pods.map((one) => ({ ...one, ...(hasEnded && { cause: ENDED }), stuck }))
  })
}

/** The containers whose processes were observed. */
const CONTAINER = {
  ...CONTAINERS,
  columns: ['cpu_usage'],
} as const satisfies SectionColumns

/** Reports whether all observed containers of a pod have ended; if none is known, any of them. */
function hasAllEnded(pod: PodEvidence): boolean {
  const ended = new Set(lastEnds(pod).map(({ container }) => container))
  const observed = pod.things(CONTAINER).flatMap(({ container }) => container ?? [])
  return ended.size > 0 && observed.every((container) => ended.has(container))
}

/** Reports whether processes of a run make no progress, or made none before they ended. */
export function isStuck(findings: readonly Pick<Finding, 'rule'>[]): boolean {
  return findings.some(({ rule }) => rule === NO_PROGRESS.name)
}

/** Reports whether processes of a run made no progress when its logs ended, and had not ended. */
export function isStuckAtEnd(findings: readonly Finding[]): boolean {
  return findings.some(({ rule, pods }) => {
    return rule === NO_PROGRESS.name && pods.some(({ cause }) => cause !== ENDED)
  })
}

interface Finding {
  readonly rule: string
  readonly pods: readonly Pick<Affected, 'cause'>[]
}
