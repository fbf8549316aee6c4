import { KEYS } from '../../core/keys.ts'
import { formatList } from '../../lib/format-list.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import { findMetric, METRICS } from '../metrics/index.ts'
import { librariesByPod } from '../metrics/libraries.ts'
import type { RunMetric } from '../metrics/metric.ts'
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
  /** Such as `waiting and hangs in MPI`, or `storage`. */
  readonly what: string
  /**
   * How it can be known, such as `needs ridealong.dev/inject: "vitals,mpi-trace"`; null if that
   * depends on the node.
   */
  readonly how: string | null
  /** The pods in which it was not looked at; null if it was in none. */
  readonly pods: readonly string[] | null
  /** Whether only a metric with a tool looks at it. */
  readonly isOfTool: boolean
  /** The area, such as MPI, if a process that waits there usually runs; null otherwise. */
  readonly polled: string | null
}

/**
 * Returns the areas that the rows of a run cover, and those that they do not cover. Only some
 * metrics show areas such as waiting in MPI. A pod without these metrics lacks such an area only if
 * a process has mapped the library, or if it is not known which libraries its processes have
 * mapped.
 *
 * @param known the names of all pods
 * @param metrics the names of the metrics that were collected
 * @param notChecked the rules that were not checked
 * @param hasOpenEnd whether the run may have ended in a way that is not known
 */
export function findLookedAt(
  run: RunEvidence,
  known: readonly string[],
  metrics: readonly string[],
  notChecked: readonly UncheckedRule[],
  hasOpenEnd: boolean,
): LookedAt {
  const special = SPECIAL.map((one) => lookAt(one, run))
  const areas = AREAS.map((area) => ({ area, pods: uncheckedPods(area, known, notChecked) }))
  const openEnds = hasOpenEnd ? podsOf(CONTAINER_FAILED.name, known, notChecked) : []
  const gapIn = (pods: readonly string[], gap: GapFacts): readonly Gap[] =>
    pods.length === 0
      ? []
      : [{ polled: null, ...gap, pods: pods.length < known.length ? pods : null }]
  const how = howToLook(metrics, special)
  return {
    seen: [
      ...special.flatMap(({ shows, isSeen }) => (isSeen ? shows.area : [])),
      ...areas.flatMap(({ area, pods }) => (pods.length === 0 ? area : [])),
    ],
    gaps: [
      ...special.flatMap(({ shows: { area, what, isPolled }, missing }) => {
        const polled = isPolled === true ? area : null
        return gapIn(missing, { what, how, isOfTool: true, polled })
      }),
      ...areas.flatMap(({ area, pods }) => gapIn(pods, { what: area, how: null, isOfTool: false })),
      ...gapIn(openEnds, {
        what: 'how the containers ended',
        how: 'the output of collect says it',
        isOfTool: false,
      }),
      ...unknownAreas(special).flatMap(({ areas: own, pods }) => {
        const them = own.length > 1 ? 'them' : 'it'
        const what = `${formatList(own, 'and')}, if the program uses ${them}`
        // Of a pod without rows, nothing is known.
        const where = pods.length < run.pods.length ? pods : known
        return gapIn(where, { what, how: null, isOfTool: true })
      }),
    ],
  }
}

type GapFacts = Omit<Gap, 'pods' | 'polled'> & Partial<Pick<Gap, 'polled'>>

/**
 * Reports whether processes may have waited although they ran, such as in MPI, where that was not
 * looked at.
 */
export function mayPoll(run: RunEvidence): boolean {
  return SPECIAL.some((one) => {
    if (one.shows.isPolled !== true) return false
    const { isUnknown, missing } = lookAt(one, run)
    return isUnknown || missing.length > 0
  })
}

/** Names the annotation that requests the metrics of a run, and those that would show more. */
function howToLook(metrics: readonly string[], special: readonly SpecialLook[]): string {
  const missing = special.flatMap((one) => (one.missing.length > 0 ? one.metric : []))
  const all = [...new Set([...metrics, ...missing])]
  const isSpecial = (name: string) => findMetric(name)?.shows !== undefined
  const sorted = [...all.filter((name) => !isSpecial(name)), ...all.filter(isSpecial)]
  return `needs ${KEYS.inject}: "${sorted.join(',')}"`
}

type Shows = NonNullable<RunMetric['shows']>

/** An area that only some metrics show, of programs that have mapped a library. */
interface SpecialArea {
  readonly shows: Shows
  readonly metrics: readonly string[]
}

const SPECIAL: readonly SpecialArea[] = [
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

/** In which pods an area was looked at that only some metrics show. */
interface SpecialLook {
  readonly shows: Shows
  /** The first metric that shows it. */
  readonly metric: string
  /** Whether it was looked at in some pod. */
  readonly isUsed: boolean
  /** Whether it was looked at in all pods that can use it. */
  readonly isSeen: boolean
  /** The pods that use the library, and in which it was not looked at. */
  readonly missing: readonly string[]
  /** Whether it is not known of a pod whether it uses the library, or no pod has rows. */
  readonly isUnknown: boolean
  /** The pods of which it is not known whether they use it, and in which it was not looked at. */
  readonly unknown: readonly string[]
}

function lookAt({ shows, metrics }: SpecialArea, run: RunEvidence): SpecialLook {
  const libraries = run.view(librariesByPod)
  const covers = (pod: PodEvidence) => metrics.some((metric) => pod.metrics.has(metric))
  const others = run.pods.flatMap((pod) => (covers(pod) ? [] : pod.pod))
  const missing = others.filter((pod) => libraries.get(pod)?.has(shows.library) === true)
  const unknown = others.filter((pod) => libraries.get(pod) === null)
  const isUsed = others.length < run.pods.length
  const isUnknown = unknown.length > 0 || run.pods.length === 0
  const isSeen = isUsed && !isUnknown && missing.length === 0
  return { shows, metric: metrics[0] ?? '', isUsed, isSeen, missing, isUnknown, unknown }
}

/** Returns the areas that programs of pods may use, grouped by these pods. */
function unknownAreas(special: readonly SpecialLook[]) {
  const named = special.filter(({ shows, isUsed, isUnknown }) => {
    return isUnknown && (isUsed || shows.isCommon === true)
  })
  const groups = Map.groupBy(named, ({ unknown }) => JSON.stringify(unknown))
  return [...groups.values()].map((own) => {
    return { areas: own.map(({ shows }) => shows.area), pods: own[0]?.unknown ?? [] }
  })
}

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
