import {
  type Capabilities,
  type Certainty,
  coversCapabilities,
  hasCapability,
  readCapabilities,
} from '../kubernetes/capabilities.ts'
import type { Fields } from '../kubernetes/json.ts'
import {
  type Container,
  type Pod,
  readSecurityContext,
  type SecurityContext,
} from '../kubernetes/pod.ts'
import { BASELINE_CAPABILITIES } from '../kubernetes/pod-security.ts'
import { type Identity, resolveIdentity } from './identity.ts'
import { isSandboxed } from './sandboxed-runtime.ts'

/** The counters of the targets that an observer can read; `unknown` if they are not predictable. */
export type Counters = 'all' | 'no-io' | 'unknown'

/**
 * The cause that hides counters from an observer, or may hide them:
 * - `user`: the observer runs as another user or group than the target;
 * - `image`: the user or group of the target is set only in its image;
 * - `capabilities`: the target has, or may have, capabilities that the observer does not have;
 * - `app-armor`: the target has another AppArmor profile than the observer;
 * - `selinux`: the target has other SELinux options than the observer;
 * - `sandbox`: the containers of the pod run in a sandbox with a kernel of its own;
 * - `several`: the predictions for several containers or observers differ.
 */
export type CounterObstacle =
  | 'user'
  | 'image'
  | 'capabilities'
  | 'app-armor'
  | 'selinux'
  | 'sandbox'
  | 'several'

/** A prediction of counters, and the obstacle unless all counters can be read. */
export type CounterPrediction =
  | { readonly counters: 'all' }
  | { readonly counters: Exclude<Counters, 'all'>; readonly obstacle: CounterObstacle }

const ALL: CounterPrediction = { counters: 'all' }

/**
 * Predicts which counters of the targets the observers can read. If the predictions for several
 * observers or containers differ, the result is `unknown`.
 *
 * The rules were measured on Linux 6.18. CPU, memory, page faults and context switches are readable
 * by every process. Reading I/O requires the user, the group and all capabilities of the target
 * process (kernel/ptrace.c, __ptrace_may_access). An observer that is root with the capabilities
 * SETUID and SETGID assumes the user and group of each process for the time of a read.
 *
 * If neither the security context of an observer nor that of the pod sets a user, the observer runs
 * as root, because its image sets no user either.
 *
 * @param contexts the core/v1 SecurityContexts of the observers
 * @param targets the containers that may contain a target process
 */
export function predictCounters(
  contexts: Iterable<Fields>,
  targets: readonly Container[],
  pod: Pod,
): CounterPrediction {
  let first: CounterPrediction | undefined
  for (const answer of predictEach(contexts, targets, pod)) {
    if (answer.counters === 'unknown') return answer
    first ??= answer
    if (answer.counters !== first.counters) return unknown('several')
  }
  return first ?? unknown('several')
}

/** Yields the prediction for each combination of observer and target. */
function* predictEach(contexts: Iterable<Fields>, targets: readonly Container[], pod: Pod) {
  for (const context of new Set(contexts)) {
    const observer = readObserver(readSecurityContext(context), pod)
    for (const target of targets) yield predictTarget(observer, target, pod)
  }
}

function unknown(obstacle: CounterObstacle): CounterPrediction {
  return { counters: 'unknown', obstacle }
}

function hidden(obstacle: CounterObstacle): CounterPrediction {
  return { counters: 'no-io', obstacle }
}

/** The identity and the abilities of an observer. */
interface Observer {
  readonly user: number
  readonly group: number | undefined
  readonly capabilities: Capabilities
  readonly appArmor: string
  readonly seLinux: string | undefined
  /** Whether the observer can assume the user and group of a process for the time of a read. */
  readonly takesIdentity: Certainty
  /** Whether the observer can read every process. */
  readonly readsEverything: boolean
}

const ROOT = 0

function readObserver(context: SecurityContext, pod: Pod): Observer {
  const { user = ROOT, group } = resolveIdentity(context, pod)
  const capabilities = readCapabilities(context)
  const has = (name: string) => (user === ROOT ? hasCapability(capabilities, name) : 'no')
  const takesIdentity = both(has('SETUID'), has('SETGID'))
  // SYS_PTRACE allows root to read every process, but not to open the files of another user.
  const opensFiles = has('DAC_OVERRIDE') === 'yes' || takesIdentity === 'yes'
  return {
    user,
    group,
    capabilities,
    appArmor: resolveAppArmor(context, pod),
    seLinux: context.seLinux ?? pod.securityContext.seLinux,
    takesIdentity,
    readsEverything: has('SYS_PTRACE') === 'yes' && opensFiles,
  }
}

function both(one: Certainty, other: Certainty): Certainty {
  if (one === 'no' || other === 'no') return 'no'
  return one === 'yes' ? other : one
}

function predictTarget(observer: Observer, target: Container, pod: Pod): CounterPrediction {
  const { capabilities } = observer
  const answer =
    capabilities.isPrivileged && observer.user === ROOT
      ? ALL
      : predictReading(observer, target, pod)
  if (answer.counters !== 'all') return answer
  return isSandboxed(pod.spec.runtimeClassName) ? unknown('sandbox') : ALL
}

function predictReading(observer: Observer, target: Container, pod: Pod): CounterPrediction {
  const { securityContext } = target
  const answer = observer.readsEverything ? ALL : predictAccess(observer, securityContext, pod)
  if (answer.counters !== 'all') return answer
  // On nodes with AppArmor, a process cannot read a process that has another profile.
  if (observer.appArmor !== targetAppArmor(target, pod)) return unknown('app-armor')
  // On nodes with SELinux, the policy decides which types and levels a process can read.
  const seLinux = securityContext.seLinux ?? pod.securityContext.seLinux
  return observer.seLinux === seLinux ? ALL : unknown('selinux')
}

/**
 * The annotation with the AppArmor profile of a container, before the name of the container. When
 * the webhooks run, the apiserver has not copied the annotation to the field yet (kubernetes v1.36
 * pkg/registry/core/pod/strategy.go, applyAppArmorVersionSkew).
 */
const APP_ARMOR_KEY = 'container.apparmor.security.beta.kubernetes.io/'

/** Returns the AppArmor profile of a target, in the form of `SecurityContext.appArmor`. */
function targetAppArmor({ name, securityContext }: Container, pod: Pod): string {
  const written = pod.annotations?.[APP_ARMOR_KEY + name]
  const isOwn = securityContext.appArmor === undefined && typeof written === 'string'
  return isOwn ? readProfile(written) : resolveAppArmor(securityContext, pod)
}

function readProfile(annotation: string): string {
  if (annotation === 'runtime/default') return 'RuntimeDefault'
  return annotation === 'unconfined'
    ? 'Unconfined'
    : annotation.replace(/^localhost\//, 'Localhost ')
}

/**
 * Returns the AppArmor profile of a container. If none is set, container runtimes use their
 * default.
 */
function resolveAppArmor({ appArmor }: SecurityContext, pod: Pod): string {
  return appArmor ?? pod.securityContext.appArmor ?? 'RuntimeDefault'
}

function predictAccess(observer: Observer, target: SecurityContext, pod: Pod): CounterPrediction {
  const watched = resolveIdentity(target, pod)
  if (observer.user !== ROOT) return asUser(observer, watched, target)
  if (watched.user === ROOT) return ofRoot(observer, watched, target)
  if (watched.user !== undefined || watched.nonRoot) return ofUser(observer, target)
  return ofImage(observer, watched, target)
}

/**
 * Predicts the counters for an observer that is not root. The observer must have the user and group
 * of the process.
 */
function asUser(
  { user, group }: Observer,
  watched: Identity,
  target: SecurityContext,
): CounterPrediction {
  const isSameUser = compare(user, watched.user)
  const isSameGroup = compare(group, watched.group)
  if (isSameUser === 'no' || isSameGroup === 'no') return hidden('user')
  if (isSameUser === 'unknown' || isSameGroup === 'unknown') return unknown('image')
  return mayExceedDefaults(target) ? unknown('capabilities') : ALL
}

/**
 * Predicts the counters of a root process for a root observer. The observer needs all capabilities
 * of the process.
 */
function ofRoot(
  { group, capabilities, takesIdentity }: Observer,
  watched: Identity,
  target: SecurityContext,
): CounterPrediction {
  const isCovered = coversCapabilities(capabilities, readCapabilities(target))
  if (isCovered === 'no') return hidden('capabilities')
  if (isCovered === 'unknown') return unknown('capabilities')
  if (takesIdentity === 'yes') return ALL
  const isSameGroup = compare(group, watched.group)
  if (isSameGroup === 'unknown') return unknown('image')
  return isSameGroup === 'yes' ? ALL : hidden('user')
}

/**
 * Predicts the counters for a root observer and a process that is not root. Such a process has
 * capabilities only if its program file grants them.
 */
function ofUser({ takesIdentity }: Observer, target: SecurityContext): CounterPrediction {
  if (takesIdentity === 'no') return hidden('user')
  if (takesIdentity === 'unknown') return unknown('image')
  return mayExceedDefaults(target) ? unknown('capabilities') : ALL
}

/**
 * Predicts the counters for a root observer and a container whose user is set only in its image.
 * The user may be root or another user.
 */
function ofImage(observer: Observer, watched: Identity, target: SecurityContext) {
  const root = ofRoot(observer, watched, target)
  const user = ofUser(observer, target)
  if (root.counters === user.counters) return root
  const isByCapabilities = 'obstacle' in root && root.obstacle === 'capabilities'
  return unknown(isByCapabilities ? 'capabilities' : 'image')
}

/**
 * Compares two user or group IDs. An undefined ID is set by an image, so the result is `unknown`.
 */
function compare(one: number | undefined, other: number | undefined): Certainty {
  if (one === undefined || other === undefined) return 'unknown'
  return one === other ? 'yes' : 'no'
}

/**
 * Reports whether a container allows capabilities that runtimes do not grant by default. A program
 * file could grant such capabilities to a process that is not root.
 */
function mayExceedDefaults({ privileged, addedCapabilities }: SecurityContext): boolean {
  return privileged || addedCapabilities.some((name) => !BASELINE_CAPABILITIES.has(name))
}
