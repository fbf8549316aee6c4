import type { Fields } from '../kubernetes/json.ts'
import type { OwnerReference } from '../kubernetes/owner-reference.ts'
import { nameFirst } from '../text/name-first.ts'
import { printable } from '../text/printable.ts'
import { MISSED_POD_REASONS, type MissedPod, type MissedPodReason } from './missed-pods.ts'
import { buildWarning, MAX_MESSAGE_LENGTH } from './warning-event.ts'

/** A message about the pods of one owner that lack their observers for the same reason. */
export interface Notice {
  readonly reason: MissedPodReason
  readonly namespace: string
  readonly regarding: OwnerReference
  /** The number of pods. */
  readonly count: number
  /** The earliest and the latest creation time of the pods, in RFC 3339 format. */
  readonly first: string
  readonly last: string
  readonly message: string
}

/**
 * Groups pods by owner and reason. For example, a Job with 2,000 pods that lack observers gets one
 * notice per reason.
 */
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
    message: printable(SENTENCES[reason](formatPods(group), pod), MAX_MESSAGE_LENGTH),
  }
}

/**
 * The message for each reason. Messages contain no text of a pod except names, which the apiserver
 * has validated.
 */
const SENTENCES: Readonly<Record<MissedPodReason, (pods: string, first: string) => string>> = {
  unanswered: (pods) =>
    'created without the requested observers, because the webhook did not answer: ' +
    `${pods}; create them again to observe them`,
  'revision-absent': (pods) =>
    'created without the requested observers, because no release has the revision that the label ' +
    `ridealong.dev/revision of the namespace names: ${pods}`,
  altered: (pods, first) =>
    `an observer is missing, altered, or not the catalog's: ${pods}; ` +
    `for details, run ridealong explain pod/${first}`,
  'observer-unavailable': (pods) =>
    `created without requested observers, because no node was known to have an image: ${pods}`,
}

function formatPods(group: readonly MissedPod[]): string {
  return nameFirst(group.map(({ pod }) => pod))
}

/**
 * Orders notices so that the first notices of all namespaces precede all second notices, and so on.
 * Drops the notices of a namespace above a limit. A namespace with many notices therefore does not
 * delay the notices of other namespaces.
 *
 * @param most the maximum number of notices per namespace
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
 * Builds the Event for a notice. The content depends only on the pods, so two replicas that write
 * the same Event at the same time write the same content.
 *
 * @param name the name of the Event, which is the same for the same owner and reason
 */
export function buildEvent(notice: Notice, name: string): Fields {
  return buildWarning({ ...notice, reason: MISSED_POD_REASONS[notice.reason] }, name)
}
