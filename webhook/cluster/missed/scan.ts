import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../../src/cluster/paths.ts'
import { listParts } from '../../../src/cluster/reflect/list.ts'
import type { Store } from '../../../src/cluster/reflect/store.ts'
import type { Catalog } from '../../../src/core/catalog.ts'
import { REVISION_LABEL } from '../../../src/core/keys.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { groupMissedPods, type Notice } from '../../../src/core/missed/missed-pod-events.ts'
import {
  findMissedPod,
  type MissedPod,
  type MissedPodReason,
} from '../../../src/core/missed/missed-pods.ts'
import { readNamespace } from '../../../src/core/namespaces/namespace.ts'
import { readRevision } from '../../../src/core/namespaces/revision.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { jittered, pauseInBackground } from '../../../src/lib/pause.ts'
import type { Intervals } from '../intervals.ts'
import type { NamespaceCache } from '../namespace-cache.ts'
import { announcer } from './announce.ts'

/** The time between two checks of whether a scan is due, in milliseconds. */
const LOOK_MS = 500

/**
 * The largest share of the time that scans may take. In a very large cluster, or with a slow
 * apiserver, the pause after a scan is therefore longer than `scanMs`.
 */
const SCAN_SHARE = 0.05

export interface ScanOptions {
  readonly api: Apiserver
  readonly knowledge: NamespaceCache
  readonly excludedNamespaces: ReadonlySet<string>
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  /** Returns the current catalog. */
  catalog(): Catalog
  readonly pace: Intervals
  /**
   * Reports whether this replica holds the Lease, and has listed all namespaces, LimitRanges and
   * ResourceQuotas.
   */
  mayScan(): boolean
  /** Called each time the Event of a notice is written. */
  onNotice(notice: Notice): void
  /** Called when an error first occurs or its message changes. */
  onTrouble(trouble: string): void
}

/**
 * The number of missed pods, by reason. A missed pod requested metrics but runs without its
 * observers, or with altered observers.
 */
export type Found = ReadonlyMap<MissedPodReason, number>

/** A periodic scan of all pods. */
export interface Scan {
  /**
   * Returns the result of the last scan; undefined until a scan has listed all pods, and while this
   * replica may not scan.
   */
  current(): Found | undefined
  readonly trouble: string | undefined
  stop(): void
}

/**
 * Scans all pods every few minutes, for pods that requested metrics but run without their
 * observers, or with altered observers. The scan does not change any pod.
 *
 * The scan lists pods from time to time instead of watching them. The result is not urgent, the
 * apiserver cannot select pods by annotation, and a watch would deliver every change of every pod's
 * status. Only the missed pods of each page are kept.
 */
export function scanPods(options: ScanOptions): Scan {
  const { pace, mayScan, onTrouble } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const announce = announcer(options)
  const timer = createTimer()
  let found: Found | undefined
  let trouble: string | undefined
  const pass = async () => {
    timer.setDue(pace.scanMs)
    const pods = await timer.time(() => unobservedPods(options, signal))
    found = countByReason(pods)
    const problem = await announce(groupMissedPods(pods), signal)
    if (problem !== undefined && problem !== trouble) onTrouble(problem)
    trouble = problem
  }
  const recover = (error: unknown) => {
    signal.throwIfAborted()
    timer.setDue(pace.longestPauseMs)
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
        timer.setDue(0)
      } else if (timer.isDue()) await pass().catch(recover)
      await pauseInBackground(Math.min(LOOK_MS, pace.scanMs), signal)
    }
  }
  // The loop ends only when the scan is stopped.
  follow().catch(() => {})
  return {
    current: () => (mayScan() ? found : undefined),
    get trouble() {
      return trouble
    },
    stop: () => stopped.abort(),
  }
}

/** Decides when the next scan begins. */
interface Timer {
  isDue(): boolean
  /** Makes the next scan due after a random time between half of `ms` and `ms`. */
  setDue(ms: number): void
  /** Measures a scan. After it, no scan is due until scans took at most SCAN_SHARE of the time. */
  time<T>(scan: () => Promise<T>): Promise<T>
}

function createTimer(): Timer {
  let due = 0
  let earliest = 0
  return {
    isDue: () => performance.now() >= Math.max(due, earliest),
    setDue(ms) {
      due = performance.now() + jittered(ms)
    },
    async time(scan) {
      const start = performance.now()
      try {
        return await scan()
      } finally {
        const end = performance.now()
        earliest = end + (end - start) * (1 / SCAN_SHARE - 1)
      }
    },
  }
}

/**
 * Lists all pods and returns the missed ones.
 *
 * @throws ApiError (410 if the continue token of a page has expired), a network error, or an error
 * if this replica may no longer scan
 */
async function unobservedPods(
  { api, pace, mayScan, knowledge, revision, excludedNamespaces, catalog }: ScanOptions,
  signal: AbortSignal,
): Promise<readonly MissedPod[]> {
  const { answerMs } = pace
  const { namespaces } = knowledge.collections
  const ownerOf = await findOwnership({ api, namespaces, revision, signal })
  const found: MissedPod[] = []
  const path = '/api/v1/pods'
  const judge = (pod: Fields) => {
    const name = asText(fieldsOrNone(pod.metadata).namespace) ?? ''
    const namespace = knowledge.find(name) ?? readNamespace(name, undefined)
    const owner = ownerOf(namespace.revision)
    if (owner === 'other') return undefined
    const isAbandoned = owner === 'abandoned'
    return findMissedPod(pod, { namespace, isAbandoned, excludedNamespaces, catalog: catalog() })
  }
  for await (const { items } of listParts({ api, path, answerMs, signal })) {
    if (!mayScan()) throw new Error('this replica may no longer scan')
    found.push(...items.flatMap((pod) => judge(pod) ?? []))
  }
  return found
}

function countByReason(pods: readonly MissedPod[]): Found {
  const counts = new Map<MissedPodReason, number>()
  for (const { reason } of pods) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return counts
}

/**
 * Says which part of the scan concerns the pods of a namespace. `own`: this release handles the
 * namespace. `abandoned`: no release has the revision of the namespace, and this is the default
 * release, which reports its pods. `other`: another release handles the namespace.
 *
 * @param revision the revision of a namespace
 */
type Ownership = (revision: string | undefined) => 'own' | 'abandoned' | 'other'

interface OwnershipOptions {
  readonly api: Apiserver
  readonly namespaces: Store
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  readonly signal: AbortSignal
}

/**
 * Finds out which releases exist, for one scan. The MutatingWebhookConfiguration of a release with
 * a revision has the same label as its namespaces. The default release lists the configurations,
 * but only if a namespace has the label.
 *
 * @throws ApiError or a network error
 */
async function findOwnership(options: OwnershipOptions): Promise<Ownership> {
  const { revision } = options
  const others = revision === undefined ? await listOthers(options) : undefined
  return (wanted) => {
    if (wanted === revision) return 'own'
    return wanted === undefined || others === undefined || others.has(wanted)
      ? 'other'
      : 'abandoned'
  }
}

async function listOthers({
  api,
  namespaces,
  signal,
}: OwnershipOptions): Promise<ReadonlySet<string>> {
  const all = [...namespaces.namespaces()].flatMap((name) => namespaces.of(name))
  if (all.every(({ object }) => readRevision(object) === undefined)) return new Set()
  const query = { labelSelector: REVISION_LABEL }
  const { items } = await api.ask({ path: WEBHOOK_CONFIGURATIONS, query, signal })
  return new Set(asObjects(items).flatMap((one) => readRevision(one) ?? []))
}
