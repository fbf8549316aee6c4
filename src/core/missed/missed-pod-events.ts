import type { Fields } from '../kubernetes/json.ts'
import type { OwnerReference } from '../kubernetes/owner-reference.ts'
import { printable } from '../text/printable.ts'
import { MISSED_POD_REASONS, type MissedPod, type MissedPodReason } from './missed-pods.ts'

/** What is to be told of one owner's pods, for one reason. */
export interface Notice {
  readonly reason: MissedPodReason
  readonly namespace: string
  readonly regarding: OwnerReference
  /** How many pods there are. */
  readonly count: number
  /** When the first and the last of them were created: RFC 3339. */
  readonly first: string
  readonly last: string
  readonly message: string
}

/** Gathers pods by their owner and the reason: a Job of 2,000 pods has one notice. */
export function groupMissedPods(found: readonly MissedPod[]): readonly Notice[] {
  const groups = new Map<string, [MissedPod, ...MissedPod[]]>()
  for (const each of found) {
    const { apiVersion, kind, name, uid } = each.regarding
    const key = JSON.stringify([each.reason, each.namespace, apiVersion, kind, name, uid])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [each])
    else group.push(each)
  }
  return [...groups.values()].map(buildNotice)
}

function buildNotice(group: readonly [MissedPod, ...MissedPod[]]): Notice {
  const [{ reason, namespace, regarding, pod }] = group
  const times = group.map(({ created }) => created).sort()
  return {
    reason,
    namespace,
    regarding,
    count: group.length,
    first: times[0] ?? '',
    last: times.at(-1) ?? '',
    message: printable(SENTENCES[reason](formatPods(group), pod), LONGEST_MESSAGE),
  }
}

/** The most that a note of events.k8s.io/v1 takes, by which the Event can be read too (its NoteLengthLimit). */
const LONGEST_MESSAGE = 1024

/** All that an Event says. Nothing of a pod is in it but names, which the apiserver has validated. */
const SENTENCES: Readonly<Record<MissedPodReason, (pods: string, first: string) => string>> = {
  unanswered: (pods) =>
    `asked for observers and got no answer from the webhook: ${pods}; create again what is to be observed`,
  altered: (pods, first) =>
    `an observer is missing, altered, or not the catalog's: ${pods}; ridealong explain pod/${first} says which`,
  'observer-unavailable': (pods) =>
    `left without observers, since no node was known to have an observer's image: ${pods}`,
}

/** So many names say which pods are meant. */
const MOST_NAMES = 3

function formatPods(group: readonly MissedPod[]): string {
  const names = group.slice(0, MOST_NAMES).map(({ pod }) => pod)
  const others = group.length - names.length
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} others`
}

/**
 * Orders notices so that namespaces take turns, and leaves out what is over a bound: a namespace that
 * has very many does not keep the others from being told.
 *
 * @param most of one namespace
 */
export function inTurns(notices: readonly Notice[], most: number): readonly Notice[] {
  const before = new Map<string, number>()
  const placed = notices.map((notice) => {
    const turn = before.get(notice.namespace) ?? 0
    before.set(notice.namespace, turn + 1)
    return { turn, notice }
  })
  return placed
    .filter(({ turn }) => turn < most)
    .sort((one, other) => one.turn - other.turn)
    .map(({ notice }) => notice)
}

/**
 * The Event of a notice. It is of core/v1, not events.k8s.io/v1, where nothing but a series may change once it
 * is written (kubernetes pkg/apis/core/validation/events.go): the number of pods does. Everything in it follows
 * from the pods, so two replicas that both think it theirs to write write the same.
 *
 * @param name of the Event, the same for the same owner and reason
 */
export function buildEvent(notice: Notice, name: string): Fields {
  const { namespace, regarding, reason, message, count, first, last } = notice
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { ...regarding, namespace },
    type: 'Warning',
    reason: MISSED_POD_REASONS[reason],
    message,
    count,
    firstTimestamp: first,
    lastTimestamp: last,
    source: { component: 'ridealong' },
    reportingComponent: 'ridealong',
  }
}
