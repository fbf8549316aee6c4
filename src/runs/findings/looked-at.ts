import { formatList } from '../../lib/format-list.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'
import { findLibraries } from '../metrics/pressure/libraries.ts'
import { AREAS, type Area, type FindingRule } from '../rules/rule.ts'
import type { UncheckedRule } from './evaluate.ts'
import { CONTAINER_FAILED } from './failure-rule.ts'
import { type CheckedRule, RULES } from './rules.ts'

/** What the rows of a run can say about what held it up. */
export interface LookedAt {
  /** What was looked at in all pods, such as MPI and processors. */
  readonly seen: readonly string[]
  /** What was not looked at, although it may have held the run up. */
  readonly gaps: readonly Gap[]
}

/** Something that was not looked at. */
export interface Gap {
  /** Such as `waiting in MPI`, or `storage`. */
  readonly what: string
  /** How it can be known, such as `mpi-trace would show it`; null if that depends on the node. */
  readonly how: string | null
  /** The pods in which it was not looked at; null if it was in none. */
  readonly pods: readonly string[] | null
  /** Whether only a metric with a tool looks at it. */
  readonly isOfTool: boolean
}

/**
 * Returns what was looked at in a run, and what was not. What only one metric shows, such as
 * waiting in MPI, is missing only if a process has mapped the library, or if it is not known which
 * libraries the processes have mapped.
 *
 * @param known the names of all pods
 * @param notChecked the rules that were not checked
 * @param hasOpenEnd whether the run may have ended in a way that is not known
 */
export function findLookedAt(
  run: RunEvidence,
  known: readonly string[],
  notChecked: readonly UncheckedRule[],
  hasOpenEnd: boolean,
): LookedAt {
  const special = SPECIAL.map(({ shows, metrics }) => {
    const covers = ({ metrics: own }: PodEvidence) => metrics.some((metric) => own.has(metric))
    const missing = run.pods.filter((pod) => {
      return !covers(pod) && findLibraries(pod)?.has(shows.library) === true
    })
    return { shows, metrics, isSeen: run.pods.some(covers), missing: missing.map(({ pod }) => pod) }
  })
  const areas = AREAS.map((area) => ({ area, pods: uncheckedPods(area, known, notChecked) }))
  const isWhole = ({ pods }: { readonly pods: readonly string[] }) => pods.length === 0
  const among = (pods: readonly string[]) => (pods.length === known.length ? null : pods)
  return {
    seen: [
      ...special.flatMap(({ shows, isSeen, missing }) =>
        isSeen && missing.length === 0 ? shows.area : [],
      ),
      ...areas.filter(isWhole).map(({ area }) => area),
    ],
    gaps: [
      ...special.flatMap(({ shows, metrics: [metric], missing }) => {
        const how = `${metric} would show it`
        return missing.length === 0
          ? []
          : { what: shows.what, how, pods: among(missing), isOfTool: true }
      }),
      ...areas.flatMap(({ area, pods }) => {
        return pods.length === 0
          ? []
          : { what: area, how: null, pods: among(pods), isOfTool: false }
      }),
      ...(hasOpenEnd ? endGaps(known, notChecked) : []),
      ...unknownGaps(run, special),
    ],
  }
}

/** What only some of the metrics show, with these metrics. */
const SPECIAL = [
  ...Map.groupBy(
    METRICS.flatMap((metric: RunMetric) => {
      return metric.shows === undefined ? [] : { name: metric.name, shows: metric.shows }
    }),
    ({ shows }) => shows.area,
  ).values(),
].flatMap((own) => {
  const [first] = own
  return first === undefined ? [] : { shows: first.shows, metrics: own.map(({ name }) => name) }
})

/** Returns the pods for which none of the rules about an area was checked. */
function uncheckedPods(
  area: Area,
  known: readonly string[],
  notChecked: readonly UncheckedRule[],
): readonly string[] {
  const own = RULES.filter((rule: CheckedRule & FindingRule) => rule.area === area)
  return own.reduce<readonly string[]>((pods, { name }) => {
    const unchecked = new Set(podsOf(name, known, notChecked))
    return pods.filter((pod) => unchecked.has(pod))
  }, known)
}

/** Returns the pods for which a rule was not checked. */
function podsOf(name: string, known: readonly string[], notChecked: readonly UncheckedRule[]) {
  return notChecked.filter(({ rule }) => rule === name).flatMap(({ pods }) => pods ?? known)
}

function endGaps(known: readonly string[], notChecked: readonly UncheckedRule[]): readonly Gap[] {
  const pods = podsOf(CONTAINER_FAILED.name, known, notChecked)
  if (pods.length === 0) return []
  const how = 'the output of collect says it'
  const where = pods.length < known.length ? pods : null
  return [{ what: 'how the containers ended', how, pods: where, isOfTool: false }]
}

/** Returns what was not looked at because it is not known what the program is. */
function unknownGaps(
  { pods }: RunEvidence,
  special: readonly { readonly shows: Shows; readonly isSeen: boolean }[],
): readonly Gap[] {
  const isKnown = pods.some((pod) => findLibraries(pod) !== null)
  const areas = special.flatMap(({ shows, isSeen }) => {
    return shows.isCommon === true && !isSeen ? shows.area : []
  })
  if (isKnown || areas.length === 0) return []
  const what = `${formatList(areas, 'and')}, if the program uses them`
  return [{ what, how: null, pods: null, isOfTool: true }]
}

type Shows = NonNullable<RunMetric['shows']>
