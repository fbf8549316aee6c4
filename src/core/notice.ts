import type { Fields } from './json.ts'
import { type Reference, UNOBSERVED, type Unobserved, type UnobservedReason } from './unobserved.ts'

/** What is to be told of one owner's pods, for one reason. */
export interface Notice {
  readonly reason: UnobservedReason
  readonly namespace: string
  readonly regarding: Reference
  /** How many pods there are. */
  readonly count: number
  /** When the first and the last of them were created: RFC 3339. */
  readonly first: string
  readonly last: string
  readonly message: string
}

/** Gathers pods by their owner and the reason: a Job of 2,000 pods has one notice. */
export function noticesOf(found: readonly Unobserved[]): readonly Notice[] {
  const groups = new Map<string, [Unobserved, ...Unobserved[]]>()
  for (const each of found) {
    const { apiVersion, kind, name, uid } = each.regarding
    const key = JSON.stringify([each.reason, each.namespace, apiVersion, kind, name, uid])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [each])
    else group.push(each)
  }
  return [...groups.values()].map(noticeOf)
}

function noticeOf(group: readonly [Unobserved, ...Unobserved[]]): Notice {
  const [{ reason, namespace, regarding, detail }] = group
  const times = group.map(({ created }) => created).sort()
  return {
    reason,
    namespace,
    regarding,
    count: group.length,
    first: times[0] ?? '',
    last: times.at(-1) ?? '',
    message: SENTENCES[reason](podsOf(group), detail),
  }
}

const SENTENCES: Readonly<Record<UnobservedReason, (pods: string, detail: string) => string>> = {
  unanswered: (pods) =>
    `asked for observers and got no answer from the webhook: ${pods}; create again what is to be observed`,
  altered: (pods, detail) =>
    `an observer was taken away or altered after it was added (${detail}): ${pods}`,
  'observer-unavailable': (pods, detail) => `left without observers, since ${detail}: ${pods}`,
}

/** So many names say which pods are meant. */
const MOST_NAMES = 3

function podsOf(group: readonly Unobserved[]): string {
  const names = group.slice(0, MOST_NAMES).map(({ pod }) => pod)
  const others = group.length - names.length
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} others`
}

/**
 * The Event of a notice. It is of core/v1, not events.k8s.io/v1, where nothing but a series may change once it
 * is written (kubernetes pkg/apis/core/validation/events.go): the number of pods does. Everything in it follows
 * from the pods, so two replicas that both think it theirs to write write the same.
 *
 * @param name of the Event, the same for the same owner and reason
 */
export function eventOf(notice: Notice, name: string): Fields {
  const { namespace, regarding, reason, message, count, first, last } = notice
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { ...regarding, namespace },
    type: 'Warning',
    reason: UNOBSERVED[reason],
    message,
    count,
    firstTimestamp: first,
    lastTimestamp: last,
    source: { component: 'ridealong' },
    reportingComponent: 'ridealong',
  }
}
