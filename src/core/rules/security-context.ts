import { asId, type Fields } from '../kubernetes/json.ts'
import {
  type Container,
  MOST_CAPABILITIES,
  type Pod,
  readSecurityContext,
  type SecurityContext,
} from '../kubernetes/pod.ts'
import { BASELINE_CAPABILITIES } from '../kubernetes/pod-security.ts'

/** The counters that an observer can read of its targets, as far as they can be predicted. */
export type Counters = 'all' | 'no-io' | 'unknown'

/**
 * The user of an observer whose target must not be root but sets no user: `nonroot` of distroless
 * images. Without a numeric user, the kubelet cannot verify that the user of an image is not root,
 * and neither the observer nor the pod would ever start (kuberuntime/security_context.go).
 */
const NON_ROOT_USER = 65532

/**
 * The user and group of a container, from its own security context or else from the pod's.
 * Undefined means that only the image sets the value.
 */
interface Identity {
  readonly user: number | undefined
  readonly group: number | undefined
  readonly nonRoot: boolean
}

function resolveIdentity(context: SecurityContext, pod: Pod): Identity {
  const { runAsUser, runAsGroup, runAsNonRoot } = pod.securityContext
  return {
    user: context.runAsUser ?? runAsUser,
    group: context.runAsGroup ?? runAsGroup,
    nonRoot: context.runAsNonRoot ?? runAsNonRoot ?? false,
  }
}

/**
 * Derives the core/v1 SecurityContext of observers from the security context of their target.
 * Observers get the user and group of the target, because the kernel lets a process read the
 * counters of processes with the same IDs (fs/proc/base.c, PTRACE_MODE_READ_FSCREDS). Observers
 * never get more privileges than the target, have a read-only root filesystem, and cannot escalate
 * their privileges. With a user other than root, the result conforms to the Pod Security level
 * `restricted`.
 */
export function deriveSecurityContext(target: Container, pod: Pod): Fields {
  const { user, group, nonRoot } = resolveIdentity(target.securityContext, pod)
  const isRoot = !nonRoot && (user === undefined || user === 0)
  return {
    runAsUser: isRoot ? user : (user ?? NON_ROOT_USER),
    runAsGroup: group,
    runAsNonRoot: isRoot ? contradiction(pod) : true,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    seccompProfile: { type: 'RuntimeDefault' },
    capabilities: isRoot ? capabilitiesLike(target.securityContext) : { drop: ['ALL'] },
  }
}

/** Returns false if the observer of a root target must override `runAsNonRoot: true` of the pod. */
function contradiction(pod: Pod): false | undefined {
  return pod.securityContext.runAsNonRoot ? false : undefined
}

/**
 * Completes the security context of a metric whose privilege is above `restricted`. If the metric
 * does not set `runAsNonRoot`, it becomes false unless the user is known not to be root. Otherwise
 * `runAsNonRoot: true` of the pod would prevent the observer from starting.
 */
export function startable(own: Fields, pod: Pod): Fields {
  const user = asId(own.runAsUser) ?? pod.securityContext.runAsUser
  return { runAsNonRoot: user !== undefined && user !== 0, ...own }
}

/**
 * Returns the capabilities for the observer of a root target. Reading a root process requires all
 * its capabilities (security/commoncap.c, cap_ptrace_access_check). The observer therefore drops
 * the capabilities that the target drops, and adds those that the target adds if every runtime
 * grants them by default. Some counters of a target with more capabilities stay unreadable.
 */
function capabilitiesLike(target: SecurityContext): Fields | undefined {
  if (dropsTooMany(target)) return { drop: ['ALL'] }
  const drop = target.droppedCapabilities
  const add = target.addedCapabilities.filter((name) => BASELINE_CAPABILITIES.has(name))
  if (drop.length + add.length === 0) return undefined
  return { drop: drop.length > 0 ? drop : undefined, add: add.length > 0 ? add : undefined }
}

/**
 * Predicts the counters that observers can read of the targets. If the predictions differ between
 * containers, the result is `unknown`.
 *
 * The rules were measured on Linux 6.18. CPU, memory, page faults and context switches are readable
 * by every process; I/O, open files and smaps require the same user, the same group and all
 * capabilities of the target.
 *
 * @param contexts the core/v1 SecurityContexts of the observers
 * @param targets the containers that may contain a target process
 */
export function predictCounters(
  contexts: Iterable<Fields>,
  targets: readonly Container[],
  pod: Pod,
): Counters {
  const answers = new Set<Counters>()
  for (const context of new Set(contexts)) {
    const observer = readSecurityContext(context)
    for (const target of targets) answers.add(predictContainerCounters(observer, target, pod))
  }
  const [answer = 'unknown'] = answers
  return answers.size === 1 ? answer : 'unknown'
}

function predictContainerCounters(
  observer: SecurityContext,
  target: Container,
  pod: Pod,
): Counters {
  const watching = resolveIdentity(observer, pod)
  const watched = resolveIdentity(target.securityContext, pod)
  if (watching.user === 0 && mayTraceAnyone(observer)) return 'all'
  const ids = [watching.user, watching.group, watched.user, watched.group]
  if (ids.includes(undefined)) return 'unknown'
  if (watching.user !== watched.user || watching.group !== watched.group) return 'no-io'
  if (!isStronger(target.securityContext)) return 'all'
  return watched.user === 0 ? 'no-io' : 'unknown'
}

/**
 * Reports whether root in this container can read every process. This requires SYS_PTRACE, and the
 * default capabilities for the files of other users.
 */
function mayTraceAnyone(observer: SecurityContext): boolean {
  const { privileged, addedCapabilities, droppedCapabilities } = observer
  return (
    privileged || (addedCapabilities.includes('SYS_PTRACE') && droppedCapabilities.length === 0)
  )
}

/**
 * Reports whether root in this container has capabilities that root in an observer does not have.
 */
function isStronger(target: SecurityContext): boolean {
  const { privileged, addedCapabilities } = target
  const isAbove = addedCapabilities.some((name) => !BASELINE_CAPABILITIES.has(name))
  return privileged || isAbove || dropsTooMany(target)
}

/** Reports whether a container drops more names than there are capabilities, too many to copy. */
function dropsTooMany({ droppedCapabilities }: SecurityContext): boolean {
  return droppedCapabilities.length > MOST_CAPABILITIES
}
