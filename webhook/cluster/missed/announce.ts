import { ApiError } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { applyEvent } from '../../../src/cluster/events.ts'
import { buildEvent, inTurns, type Notice } from '../../../src/core/missed/missed-pod-events.ts'
import { hashedName } from '../../../src/lib/hashed-name.ts'
import { pauseInBackground } from '../../../src/lib/pause.ts'
import type { Intervals } from '../intervals.ts'

export interface AnnounceOptions {
  readonly api: Apiserver
  readonly pace: Intervals
  mayScan(): boolean
  onNotice(notice: Notice): void
}

interface Told {
  readonly text: string
  readonly at: number
}

/**
 * Writes Events. If the apiserver rejects Events, the others are still written, and the message of
 * the first rejection is returned.
 */
export type Announce = (
  notices: readonly Notice[],
  signal: AbortSignal,
) => Promise<string | undefined>

/**
 * Creates a function that writes one Event for each notice, at a limited rate, unless the same
 * Event was written recently. A notice is about pods of one owner. These pods requested observers
 * but run without them, or with altered observers, all for the same reason.
 *
 * The name of the Event is derived from this owner and this reason. A replica that takes over the
 * search for such pods therefore overwrites the Event instead of adding another.
 *
 * The number of notices per namespace is limited, because users who create pods in a namespace can
 * name any number of owners. A notice above the limit and a rejected notice are retried with the
 * next notices.
 *
 * The returned function throws on a network error, since the other Events would fail as well, and
 * when `mayScan` returns false.
 */
export function announcer(options: AnnounceOptions): Announce {
  const { pace } = options
  const written = new Map<string, Told>()
  return async (notices, signal) => {
    forgetOthers(written, notices)
    const due = notices.filter((notice) => !isFresh(notice, written.get(eventName(notice)), pace))
    let problem: string | undefined
    for (const notice of inTurns(due, pace.eventsPerNamespace)) {
      const error = await tell(notice, options, signal)
      if (error === undefined)
        written.set(eventName(notice), { text: textOf(notice), at: performance.now() })
      problem ??= error?.message
    }
    return problem
  }
}

/** Forgets the Events that have no notice any more. */
function forgetOthers(told: Map<string, Told>, notices: readonly Notice[]): void {
  const names = new Set(notices.map(eventName))
  for (const name of told.keys()) if (!names.has(name)) told.delete(name)
}

/** Reports whether the Event was written recently with the same content. */
function isFresh(notice: Notice, before: Told | undefined, { eventMs }: Intervals): boolean {
  return before?.text === textOf(notice) && performance.now() - before.at < eventMs
}

function textOf({ count, last, message }: Notice): string {
  return `${count} ${last} ${message}`
}

/** Writes the Event of a notice, and waits until the next Event may be written. */
async function tell(
  notice: Notice,
  { api, pace, mayScan, onNotice }: AnnounceOptions,
  stopped: AbortSignal,
): Promise<ApiError | undefined> {
  if (!mayScan()) throw new Error('this replica may no longer scan')
  const event = buildEvent(notice, eventName(notice))
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(pace.answerMs)])
  const error = await applyEvent(api, event, { fieldManager: 'ridealong', signal }).then(
    () => undefined,
    apiErrorOnly,
  )
  if (error === undefined) onNotice(notice)
  await pauseInBackground(1000 / pace.eventsPerSecond, stopped)
  return error
}

/**
 * Returns the error if the apiserver rejected the Event.
 *
 * @throws any other error
 */
function apiErrorOnly(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

function eventName({ reason, regarding }: Notice): string {
  const { apiVersion, kind, name, uid } = regarding
  return hashedName([reason, apiVersion, kind, name, uid])
}
