import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Apiserver, connectApiserver } from '../../src/cluster/apiserver.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { type Reflector, startReflector } from '../../src/cluster/reflect/reflector.ts'
import type { Catalog } from '../../src/core/catalog.ts'
import { readServerVersion } from '../../src/core/kubernetes/server-version.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { requestsMetrics } from '../../src/core/request.ts'
import { backoffMs, jittered, pauseInBackground } from '../../src/lib/pause.ts'
import { type FollowedNamespaces, type NamespaceSource, NotKnownYet } from '../namespaces.ts'
import type { ReadinessCheck } from '../status-app.ts'
import { type HeldImages, watchHeldImages } from './images/held-images.ts'
import { INTERVALS, type Intervals } from './intervals.ts'
import { followRevisions } from './known-revisions.ts'
import { createLookup, type Lookup } from './lookup.ts'
import { guard } from './missed/guard.ts'
import {
  createNamespaceCache,
  type NamespaceCache,
  RESOURCE_NAMES,
  RESOURCES,
} from './namespace-cache.ts'
import { repairLabels } from './repair.ts'
import { createReport } from './report.ts'

/**
 * The scan for missed pods, which one replica of the webhook performs. A missed pod requested
 * observers but runs without them, or with altered observers.
 */
export interface MissedPodScan {
  /** The Lease that selects the scanning replica, as `NAMESPACE/NAME`. */
  readonly lease: string
  /** Returns the current catalog. */
  catalog(): Catalog
}

export interface ClusterWatchOptions {
  readonly access: Access
  readonly excludedNamespaces: ReadonlySet<string>
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  /**
   * The namespace of the DaemonSets that keep observers' images on nodes; if undefined, images are
   * not watched.
   */
  readonly imageHolders?: string | undefined
  /** The scan for missed pods; if undefined, this server does not scan. */
  readonly scan?: MissedPodScan | undefined
  readonly registry: Registry
  readonly log: Logger
  readonly pace?: Intervals | undefined
}

/**
 * Watches the namespaces of a cluster, and repairs the labels of those that this release handles,
 * until `stop` is called.
 *
 * The function returns before the namespaces, LimitRanges and ResourceQuotas are listed. Until they
 * are listed, the namespace of each pod is looked up. There is no look-up for images. If
 * `imageHolders` is set, `find` therefore throws NotKnownYet until the DaemonSets of that namespace
 * are listed, and the apiserver has to call again.
 */
export function watchCluster(options: ClusterWatchOptions): FollowedNamespaces {
  const { imageHolders: namespace, registry, log, pace = INTERVALS } = options
  const { excludedNamespaces, revision } = options
  const handled = { excludedNamespaces, revision }
  const api = connectApiserver(options.access)
  const report = createReport(registry, log, () => Math.max(...mirrors.map(computeAge)))
  const { onTroubleOf, onImage: onChange, onRepair: onOutcome } = report
  const knowledge = createNamespaceCache((name) => {
    repairs.consider(name)
    look.forget(name)
    revisions.note(knowledge.find(name))
  })
  const { namespaces } = knowledge.collections
  const repairs = repairLabels({ api, namespaces, ...handled, pace, onOutcome })
  const mirrors = RESOURCE_NAMES.map((resource) => {
    const { [resource]: collection } = knowledge.collections
    const [path, itemOf] = [`/api/v1/${resource}`, RESOURCES[resource]]
    const onTrouble = onTroubleOf(resource)
    return startReflector({ api, path, itemOf, collection, pace, onTrouble })
  })
  const look = createLookup({ access: options.access, knowledge, pace, onEnd: report.onLookup })
  const onTrouble = onTroubleOf('daemonsets')
  const images = namespace && watchHeldImages({ api, namespace, pace, onTrouble, onChange })
  const revisions = followRevisions({ api, revision, pace, onTrouble: onTroubleOf('releases') })
  const version = followVersion({ api, pace, onTrouble: onTroubleOf('version') })
  const parts = [repairs, look, version, revisions, ...mirrors, ...(images ? [images] : [])]
  const isComplete = () => mirrors.every(({ isListed }) => isListed)
  const find = finder(knowledge, look, isComplete)
  const guarding = { api, knowledge, ...handled, registry, log, pace, isComplete }
  const guarded = options.scan && guard({ ...guarding, ...options.scan })
  return {
    find: images ? withImages(find, images) : find,
    checks: () => [
      ...buildChecks(mirrors, images ? images.mirror : undefined),
      ...(guarded ? [guarded.check()] : []),
    ],
    heldImages: images ? images.current : undefined,
    apiserverVersion: version.current,
    revisions: revisions.current,
    async stop() {
      for (const { stop } of parts) stop()
      await guarded?.stop()
    },
  }
}

/** Returns a function that finds namespaces after the images on nodes are listed. */
function withImages(find: FollowedNamespaces['find'], { mirror }: HeldImages): typeof find {
  return (name, mustAsk) => {
    if (!mirror.isListed) throw new NotKnownYet('the set of images on nodes')
    return find(name, mustAsk)
  }
}

function computeAge({ inStepAt }: Reflector): number {
  return (performance.now() - inStepAt) / 1000
}

/** Builds the readiness checks of the caches of all RESOURCES and of the DaemonSets. */
function buildChecks(mirrors: readonly Reflector[], images: Reflector | undefined) {
  return [
    ...mirrors.map((each, place) => buildCheck(RESOURCE_NAMES[place] ?? '', each)),
    ...(images ? [buildCheck('daemonsets', images)] : []),
  ]
}

/**
 * Builds the readiness check of a cache. A server without a first list could wrongly leave pods, so
 * it is not ready. A server with an old list remains ready.
 */
function buildCheck(name: string, mirror: Reflector): ReadinessCheck {
  const { isListed, trouble } = mirror
  if (!isListed)
    return {
      name,
      problem: `not listed yet: ${trouble ?? 'waiting for the apiserver'}`,
      fatal: true,
    }
  const age = `last up to date ${Math.round(computeAge(mirror))} s ago`
  return { name, problem: trouble && `${trouble}; ${age}`, fatal: false }
}

/**
 * Creates the function that finds namespaces. The function returns a cached namespace in the same
 * turn of the event loop. In these cases, the function looks up the namespace at the apiserver:
 * - The caches do not have the namespace.
 * - A pod was sent because its namespace requests metrics, but the cached namespace requests none.
 * - `isComplete` returns false.
 *
 * @param isComplete reports whether all resources have been listed once. Until then, a cached
 * namespace may lack its LimitRanges, so each namespace is looked up.
 */
function finder(
  knowledge: NamespaceCache,
  look: Lookup,
  isComplete: () => boolean,
): NamespaceSource['find'] {
  return (name, mustAsk) => {
    const known = knowledge.find(name)
    const isEnough = known !== undefined && (!mustAsk || requestsMetrics(known.annotations))
    if (isEnough && isComplete()) return known
    const best = (isAnswered: boolean) => {
      const found = knowledge.find(name) ?? readNamespace(name, undefined)
      if (mustAsk && !isAnswered && !requestsMetrics(found.annotations))
        throw new NotKnownYet(`the request of the namespace ${name}`)
      return found
    }
    const looked = look.find(name)
    return looked instanceof Promise ? looked.then(best) : best(looked)
  }
}

interface VersionOptions {
  readonly api: Apiserver
  readonly pace: Intervals
  /** Called when the version cannot be read; `isLasting` if the reading before failed too. */
  onTrouble(trouble: string, isLasting: boolean): void
}

/** The version of the apiserver, which is read again at intervals. */
interface FollowedVersion {
  /** Returns N of the version 1.N, or undefined if the version is not known. */
  current(): number | undefined
  stop(): void
}

/**
 * Reads the version of the apiserver until `stop` is called. The current version is the older one
 * of the last two readings: while a control plane is upgraded, one of its apiservers can already
 * have the new version while another one still checks pods by the rules of the old version.
 */
export function followVersion({ api, pace, onTrouble }: VersionOptions): FollowedVersion {
  const stopped = new AbortController()
  let readings: readonly number[] = []
  let failures = 0
  const read = async (): Promise<number> => {
    try {
      const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(pace.answerMs)])
      const version = readServerVersion(await api.ask({ path: '/version', signal }))
      if (version === undefined) throw new Error('/version contains no version 1.N')
      readings = [...readings, version].slice(-2)
      failures = 0
      return pace.relistMs
    } catch (error) {
      failures += 1
      if (!stopped.signal.aborted) onTrouble(String(error), failures > 1)
      return backoffMs(pace, failures)
    }
  }
  const readAgain = async () => {
    while (true) {
      const pauseMs = await read()
      await pauseInBackground(jittered(pauseMs), stopped.signal)
    }
  }
  // The promise rejects only when the reading is stopped.
  readAgain().catch(() => {})
  return {
    current: () => (readings.length === 0 ? undefined : Math.min(...readings)),
    stop: () => stopped.abort(),
  }
}
