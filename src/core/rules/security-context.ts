import { asId, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import {
  type Container,
  MAX_CAPABILITIES,
  type Pod,
  type SecurityContext,
} from '../kubernetes/pod.ts'
import { BASELINE_CAPABILITIES } from '../kubernetes/pod-security.ts'
import { resolveIdentity } from './identity.ts'
import { mustInheritSeccomp } from './openshift.ts'

/**
 * The user of an observer whose target must not run as root, but has no user set. Distroless images
 * have the user `nonroot` with this ID. Without a numeric user, the kubelet cannot verify that an
 * image does not run as root, and neither the observer nor the pod would ever start
 * (kuberuntime/security_context.go).
 */
const NON_ROOT_USER = 65532

/**
 * Derives the core/v1 SecurityContext of observers from the security context of their target.
 * Observers get the user and group of the target, because the kernel lets a process read the
 * counters of processes with the same IDs (fs/proc/base.c, PTRACE_MODE_READ_FSCREDS). Observers get
 * no privilege that the pod denies to the target, have a read-only root filesystem, and cannot
 * escalate their privileges.
 *
 * On OpenShift, the result may have no seccomp profile, see `mustInheritSeccomp`. Otherwise, with a
 * user other than root, the result conforms to the Pod Security level `restricted`. If the
 * pod sets no user and allows root, the result sets no user either. The observer then runs as root,
 * because its image sets no user. It keeps the default capabilities that the target does not drop,
 * and assumes the user and group of each process for the time of a read. A result that allows root
 * conforms to `baseline`.
 */
export function deriveSecurityContext(target: Container, pod: Pod): Fields {
  const { user, group, nonRoot } = resolveIdentity(target.securityContext, pod)
  const isRoot = !nonRoot && (user === undefined || user === 0)
  const limits = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    seccompProfile: mustInheritSeccomp(pod) ? undefined : { type: 'RuntimeDefault' },
  }
  if (!isRoot) {
    return {
      runAsUser: user ?? NON_ROOT_USER,
      runAsGroup: group,
      runAsNonRoot: true,
      ...limits,
      capabilities: { drop: ['ALL'] },
    }
  }
  return {
    runAsUser: user,
    runAsGroup: group,
    // The value of the target. With `false`, the observer can run as root even if the pod has
    // `runAsNonRoot: true`.
    runAsNonRoot: target.securityContext.runAsNonRoot,
    ...limits,
    capabilities: rootCapabilities(target.securityContext, user !== undefined),
  }
}

/**
 * Completes the security context that the catalog sets for a metric. If this security context does
 * not set `runAsNonRoot`, the field becomes true if the user is known not to be root, and false
 * otherwise. Without `false`, a pod with `runAsNonRoot: true` would prevent the observer from
 * starting. The default seccomp profile is left out where `mustInheritSeccomp` says so.
 */
export function startable(declared: Fields, pod: Pod): Fields {
  const user = asId(declared.runAsUser) ?? pod.securityContext.runAsUser
  const context = { runAsNonRoot: user !== undefined && user !== 0, ...declared }
  const isDefault = fieldsOrNone(declared.seccompProfile).type === 'RuntimeDefault'
  return isDefault && mustInheritSeccomp(pod) ? { ...context, seccompProfile: undefined } : context
}

/**
 * Returns the capabilities for the observer of a target that may be root. Reading a root process
 * requires all capabilities of the process (security/commoncap.c, cap_ptrace_access_check), so the
 * observer drops only the capabilities that the target drops. If the user is set to root, the
 * observer also adds those of the target's added capabilities that Pod Security `baseline` allows.
 *
 * @param isNamed whether the container or the pod sets the user; otherwise no capabilities are
 * added
 */
function rootCapabilities(target: SecurityContext, isNamed: boolean): Fields | undefined {
  if (dropsTooMany(target)) return { drop: ['ALL'] }
  const drop = target.droppedCapabilities
  const add = isNamed
    ? target.addedCapabilities.filter((name) => BASELINE_CAPABILITIES.has(name))
    : []
  if (drop.length + add.length === 0) return undefined
  return { drop: drop.length > 0 ? drop : undefined, add: add.length > 0 ? add : undefined }
}

/**
 * Reports whether a container drops more names than there are capabilities. Such a list is not
 * copied; the observer drops all capabilities instead.
 */
function dropsTooMany({ droppedCapabilities }: SecurityContext): boolean {
  return droppedCapabilities.length > MAX_CAPABILITIES
}
