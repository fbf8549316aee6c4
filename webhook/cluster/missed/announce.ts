import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { Refusal } from '../../../src/cluster/refusal.ts'
import { buildEvent, inTurns, type Notice } from '../../../src/core/missed/missed-pod-events.ts'
import type { Intervals } from '../backoff.ts'

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

/** Writes Events. Returns what refused one, if anything did; the others are written all the same. */
export type Announce = (
  notices: readonly Notice[],
  signal: AbortSignal,
) => Promise<string | undefined>

/**
 * Writes one Event for each notice, at a bounded rate: none where it is there and says the same. Its name
 * is made of the owner and the reason, so a replica that comes after another writes over what that one wrote.
 * A notice that is refused is tried again with the next ones, and so is one for which its namespace has
 * had too many: whoever creates pods there can name any number of owners.
 *
 * What is returned throws an error of the network, since the others would fail as well, and where the
 * turn is over.
 */
export function announcer(options: AnnounceOptions): Announce {
  const { pace } = options
  const told = new Map<string, Told>()
  return async (notices, signal) => {
    forgetOthers(told, notices)
    const due = notices.filter((notice) => !isFresh(notice, told.get(eventName(notice)), pace))
    let problem: string | undefined
    for (const notice of inTurns(due, pace.eventsPerNamespace)) {
      const refusal = await tell(notice, options, signal)
      if (refusal === undefined)
        told.set(eventName(notice), { text: textOf(notice), at: performance.now() })
      problem ??= refusal?.message
    }
    return problem
  }
}

/** What is no longer to be told is forgotten. */
function forgetOthers(told: Map<string, Told>, notices: readonly Notice[]): void {
  const names = new Set(notices.map(eventName))
  for (const name of told.keys()) if (!names.has(name)) told.delete(name)
}

/** Whether the Event is there, and says what it should. */
function isFresh(notice: Notice, before: Told | undefined, { eventMs }: Intervals): boolean {
  return before?.text === textOf(notice) && performance.now() - before.at < eventMs
}

function textOf({ count, last, message }: Notice): string {
  return `${count} ${last} ${message}`
}

/** Writes the Event of a notice, and waits until the next may be written. */
async function tell(
  notice: Notice,
  { api, pace, mayScan, onNotice }: AnnounceOptions,
  stopped: AbortSignal,
): Promise<Refusal | undefined> {
  if (!mayScan()) throw new Error('the turn went to another replica')
  const name = eventName(notice)
  const path = `/api/v1/namespaces/${notice.namespace}/events/${name}`
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(pace.answerMs)])
  const refusal = await api
    .ask({ path, query: OWNER, apply: buildEvent(notice, name), signal })
    .then(() => undefined, refusalOnly)
  if (refusal === undefined) onNotice(notice)
  await sleep(1000 / pace.eventsPerSecond, undefined, { signal: stopped, ref: false })
  return refusal
}

/** @throws whatever is no answer of the apiserver */
function refusalOnly(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}

/** What another manager has written of it is written over: it is nobody else's. */
const OWNER = { fieldManager: 'ridealong', force: 'true' } as const

/** A name that Kubernetes takes, whatever the owner is called. */
function eventName({ reason, regarding }: Notice): string {
  const { apiVersion, kind, name, uid } = regarding
  const text = JSON.stringify([reason, apiVersion, kind, name, uid])
  return `ridealong.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}
