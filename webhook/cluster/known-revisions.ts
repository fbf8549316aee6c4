import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../src/cluster/paths.ts'
import { asObjects } from '../../src/core/kubernetes/json.ts'
import type { Namespace } from '../../src/core/namespaces/namespace.ts'
import { nameRevision, readRevision } from '../../src/core/namespaces/revision.ts'
import { pauseInBackground } from '../../src/lib/pause.ts'
import { POD_WEBHOOK, webhookIn } from '../../src/pods/explain/webhook.ts'
import type { Intervals } from './intervals.ts'

export interface RevisionOptions {
  readonly api: Apiserver
  /** The revision of this release; undefined for the default release. */
  readonly revision: string | undefined
  readonly pace: Intervals
  /** Called when the releases cannot be listed; `isLasting` if the list before failed too. */
  onTrouble(trouble: string, isLasting: boolean): void
}

/** The revisions of the releases in the cluster. */
export interface KnownRevisions {
  /** Returns the names of the revisions, with the name of this release. */
  current(): ReadonlySet<string>
  /**
   * Must be called for each namespace that has changed. Lists the releases again if the namespace
   * moves, or has a revision that is not known.
   */
  note(namespace: Namespace | undefined): void
  stop(): void
}

/**
 * Lists the releases of Ridealong if there can be more than one, at most every `lookupRestMs`. In a
 * cluster with only the default release, nothing is listed.
 */
export function followRevisions(options: RevisionOptions): KnownRevisions {
  const { api, revision, pace, onTrouble } = options
  const stopped = new AbortController()
  const ownRevision = nameRevision(revision)
  let current: ReadonlySet<string> = new Set([ownRevision])
  let failures = 0
  let isDue = false
  let isWorking = false
  const list = async () => {
    try {
      const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(pace.answerMs)])
      const { items } = await api.ask({ path: WEBHOOK_CONFIGURATIONS, signal })
      const releases = asObjects(items).filter((one) => webhookIn(one, POD_WEBHOOK) !== undefined)
      current = new Set([ownRevision, ...releases.map((one) => nameRevision(readRevision(one)))])
      failures = 0
    } catch (error) {
      failures += 1
      if (!stopped.signal.aborted) onTrouble(String(error), failures > 1)
    }
  }
  const work = async () => {
    while (isDue && !stopped.signal.aborted) {
      isDue = false
      await list()
      await pauseInBackground(pace.lookupRestMs, stopped.signal)
    }
    isWorking = false
  }
  const refresh = () => {
    isDue = true
    if (isWorking) return
    isWorking = true
    // The promise rejects only when the lists are stopped.
    work().catch(() => {})
  }
  if (revision !== undefined) refresh()
  return {
    current: () => current,
    note(namespace) {
      const { movedFrom, revision: wanted = ownRevision } = namespace ?? {}
      if (movedFrom !== undefined || !current.has(wanted)) refresh()
    },
    stop: () => stopped.abort(),
  }
}
