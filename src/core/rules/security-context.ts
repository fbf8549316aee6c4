import { asId, type Fields } from '../kubernetes/json.ts'
import {
  type Container,
  type Pod,
  readSecurityContext,
  type SecurityContext,
} from '../kubernetes/pod.ts'
import { BASELINE_CAPABILITIES } from '../kubernetes/pod-security.ts'

/** Which counters of its targets an observer can read, as far as can be known beforehand. */
export type Counters = 'all' | 'no-io' | 'unknown'

/**
 * The user of an observer whose target must not be root but says no user: `nobody` of distroless
 * images. Without a number the kubelet cannot prove that an image's user is not root, and the
 * observer, and with it the pod, would never start (kuberuntime/security_context.go).
 */
const NON_ROOT_USER = 65532

/**
 * The user that a container runs as: its own word, then the pod's; undefined where only the image
 * says.
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
 * The core/v1 SecurityContext of observers, derived from their target's: the same user and group,
 * since the kernel shows a process's counters to its like (fs/proc/base.c, PTRACE_MODE_READ_FSCREDS),
 * and never more than the target has. Nothing is written and nothing gained; with a user other than
 * root it passes the Pod Security level `restricted`.
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

/** Where the pod says runAsNonRoot and its target says otherwise, so must the observer. */
function contradiction(pod: Pod): false | undefined {
  return pod.securityContext.runAsNonRoot ? false : undefined
}

/**
 * The context that a metric above the privilege `restricted` brings. Where it does not say so, a pod's
 * `runAsNonRoot` would keep an observer that is root, or whose image says who it is, from starting.
 */
export function startable(own: Fields, pod: Pod): Fields {
  const user = asId(own.runAsUser) ?? pod.securityContext.runAsUser
  return { runAsNonRoot: user !== undefined && user !== 0, ...own }
}

/**
 * A root process is read by one that has each of its capabilities (security/commoncap.c,
 * cap_ptrace_access_check). So the observer drops what the target drops and adds what the target
 * adds, as far as every runtime grants it anyway; a stronger target stays hidden.
 */
function capabilitiesLike(target: SecurityContext): Fields | undefined {
  if (dropsTooMany(target)) return { drop: ['ALL'] }
  const drop = target.droppedCapabilities
  const add = target.addedCapabilities.filter((name) => BASELINE_CAPABILITIES.has(name))
  if (drop.length + add.length === 0) return undefined
  return { drop: drop.length > 0 ? drop : undefined, add: add.length > 0 ? add : undefined }
}

/**
 * Which counters the observers can read of these containers: only what is certain is said.
 * The table behind it was measured on a kernel 6.18; CPU, memory, faults and switches are open to
 * all, while I/O, open files and smaps need the same user, the same group and each capability.
 *
 * @param contexts the core/v1 SecurityContexts that the observers will have
 * @param targets the containers that may hold a target
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

/** Whether root with these capabilities reads every process: ptrace, and the files of any user. */
function mayTraceAnyone(observer: SecurityContext): boolean {
  const { privileged, addedCapabilities, droppedCapabilities } = observer
  return (
    privileged || (addedCapabilities.includes('SYS_PTRACE') && droppedCapabilities.length === 0)
  )
}

/** Whether a container's root holds capabilities that an observer's root does not. */
function isStronger(target: SecurityContext): boolean {
  const { privileged, addedCapabilities } = target
  const isAbove = addedCapabilities.some((name) => !BASELINE_CAPABILITIES.has(name))
  return privileged || isAbove || dropsTooMany(target)
}

/** A set of capabilities has 64 bits (include/linux/capability.h, kernel_cap_t), and ALL is a word. */
const MOST_CAPABILITIES = 65

/** Whether a container drops more names than there can be capabilities, too many to repeat. */
function dropsTooMany({ droppedCapabilities }: SecurityContext): boolean {
  return droppedCapabilities.length > MOST_CAPABILITIES
}
