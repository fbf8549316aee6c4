import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import type { Catalog } from '../../../src/core/catalog.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import { groupMissedPods, type Notice } from '../../../src/core/missed/missed-pod-events.ts'
import {
  findMissedPod,
  type MissedPod,
  type MissedPodReason,
} from '../../../src/core/missed/missed-pods.ts'
import { readNamespace } from '../../../src/core/namespace.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { type Intervals, jittered } from '../backoff.ts'
import type { NamespaceCache } from '../namespace-cache.ts'
import { listPages } from '../reflect/list.ts'
import { announcer } from './announce.ts'

/** A page of pods is a megabyte or two: a review that comes meanwhile waits for one. */
const PAGE = '100'

/** Whether it is time to begin is looked at so often. */
const LOOK_MS = 500

export interface ScanOptions {
  readonly api: Apiserver
  readonly knowledge: NamespaceCache
  readonly excludedNamespaces: ReadonlySet<string>
  /** The catalog that this server serves now. */
  catalog(): Catalog
  readonly pace: Intervals
  /** Whether it is this replica's turn, and enough is known of namespaces. */
  mayScan(): boolean
  /** Told of each notice that is written, or written anew. */
  onNotice(notice: Notice): void
  /** Called when trouble begins or changes. */
  onTrouble(trouble: string): void
}

/** So many pods were found, by the reason. */
export type Found = ReadonlyMap<MissedPodReason, number>

/** A look at all pods, every few minutes. */
export interface Scan {
  /** What the last look found; undefined before the first, and where the turn is another's. */
  current(): Found | undefined
  readonly trouble: string | undefined
  stop(): void
}

/**
 * Looks at all pods every few minutes, for those that asked and are there without their observers.
 * It touches none.
 *
 * A list now and then, not a watch: nothing waits for it, a pod's annotations cannot be selected by, and a watch
 * would bring every change of every pod's status. Of a page nothing is kept but what was found.
 */
export function scanPods(options: ScanOptions): Scan {
  const { pace, mayScan, onTrouble } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const announce = announcer(options)
  let found: Found | undefined
  let trouble: string | undefined
  let due = 0
  const wait = (ms: number) => sleep(ms, undefined, { signal, ref: false })
  const pass = async () => {
    due = performance.now() + jittered(pace.scanMs)
    const pods = await unobservedPods(options, signal)
    found = countByReason(pods)
    const problem = await announce(groupMissedPods(pods), signal)
    if (problem !== undefined && problem !== trouble) onTrouble(problem)
    trouble = problem
  }
  const recover = (error: unknown) => {
    signal.throwIfAborted()
    due = performance.now() + jittered(pace.longestPauseMs)
    if (!mayScan()) return
    const problem = errorMessage(error)
    if (problem !== trouble) onTrouble(problem)
    trouble = problem
  }
  const follow = async () => {
    while (true) {
      if (!mayScan()) {
        found = undefined
        trouble = undefined
        due = 0
      } else if (performance.now() >= due) await pass().catch(recover)
      await wait(Math.min(LOOK_MS, pace.scanMs))
    }
  }
  // It ends only when it is stopped.
  follow().catch(() => {})
  return {
    current: () => (mayScan() ? found : undefined),
    get trouble() {
      return trouble
    },
    stop: () => stopped.abort(),
  }
}

/** @throws Refusal (410 where a page came too late), or an error of the network */
async function unobservedPods(
  { api, pace, mayScan, knowledge, excludedNamespaces, catalog }: ScanOptions,
  signal: AbortSignal,
): Promise<readonly MissedPod[]> {
  const { answerMs } = pace
  const found: MissedPod[] = []
  const path = '/api/v1/pods'
  const judge = (pod: Fields) => {
    const name = asText(fieldsOrNone(pod.metadata).namespace) ?? ''
    const namespace = knowledge.find(name) ?? readNamespace(name, undefined)
    return findMissedPod(pod, { namespace, excludedNamespaces, catalog: catalog() })
  }
  for await (const page of listPages({ api, path, answerMs, signal, limit: PAGE })) {
    if (!mayScan()) throw new Error('the turn went to another replica')
    found.push(...listOrNone(page.items).flatMap((pod) => judge(fieldsOrNone(pod)) ?? []))
  }
  return found
}

function countByReason(pods: readonly MissedPod[]): Found {
  const counts = new Map<MissedPodReason, number>()
  for (const { reason } of pods) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}
