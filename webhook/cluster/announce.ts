import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { Refusal } from '../../src/cluster/refusal.ts'
import { eventOf, type Notice } from '../../src/core/notice.ts'
import type { Pace } from './pace.ts'

export interface AnnounceOptions {
  readonly api: Apiserver
  readonly pace: Pace
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
 * A notice that is refused is tried again with the next ones.
 *
 * What is returned throws an error of the network, since the others would fail as well, and where the
 * turn is over.
 */
export function announcer(options: AnnounceOptions): Announce {
  let told: ReadonlyMap<string, Told> = new Map()
  return async (notices, signal) => {
    // What is no longer to be told is forgotten.
    const next = new Map<string, Told>()
    let problem: string | undefined
    for (const notice of notices) {
      const name = nameOf(notice)
      const outcome = await tell(notice, name, told.get(name), options, signal)
      if ('problem' in outcome) problem ??= outcome.problem
      else next.set(name, outcome)
    }
    told = next
    return problem
  }
}

async function tell(
  notice: Notice,
  name: string,
  before: Told | undefined,
  { api, pace, mayScan, onNotice }: AnnounceOptions,
  stopped: AbortSignal,
): Promise<Told | { readonly problem: string }> {
  if (!mayScan()) throw new Error('the turn went to another replica')
  const text = `${notice.count} ${notice.last} ${notice.message}`
  const isFresh = before?.text === text && performance.now() - before.at < pace.eventMs
  if (isFresh) return before
  const path = `/api/v1/namespaces/${notice.namespace}/events/${name}`
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(pace.answerMs)])
  try {
    await api.ask({ path, query: OWNER, apply: eventOf(notice, name), signal })
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.message }
    throw error
  }
  onNotice(notice)
  await sleep(1000 / pace.eventsPerSecond, undefined, { signal: stopped, ref: false })
  return { text, at: performance.now() }
}

/** What another manager has written of it is written over: it is nobody else's. */
const OWNER = { fieldManager: 'ridealong', force: 'true' } as const

/** A name that Kubernetes takes, whatever the owner is called. */
function nameOf({ reason, regarding }: Notice): string {
  const { apiVersion, kind, name, uid } = regarding
  const text = JSON.stringify([reason, apiVersion, kind, name, uid])
  return `ridealong.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}
