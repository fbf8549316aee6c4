import { type Fields, fieldsOrNone } from './json.ts'
import { type Pod, readSecurityContext } from './pod.ts'

/** The levels of the Pod Security Standards, the strictest first. */
export const POD_SECURITY_LEVELS = ['restricted', 'baseline', 'privileged'] as const
export type PodSecurityLevel = (typeof POD_SECURITY_LEVELS)[number]

/**
 * The capabilities that Pod Security `baseline` allows a container to add (pod-security-admission
 * v0.36 policy/check_capabilities_baseline.go). containerd grants all of them by default, and CRI-O
 * grants some of them.
 */
export const BASELINE_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

/**
 * Returns the property of an observer that a Pod Security level refuses, as a clause ("it is
 * privileged"), or undefined if the level accepts the observer. An observer has no ports, probes or
 * host paths, so only the checks of its securityContext apply.
 *
 * The rules come from pod-security-admission v0.36, package policy.
 *
 * @param context the observer's core/v1 SecurityContext
 */
export function podSecurityProblem(
  level: PodSecurityLevel,
  context: Fields,
  pod: Pick<Pod, 'hostUsers'>,
): string | undefined {
  if (level === 'privileged') return undefined
  const problem = baselineProblem(context)
  return problem ?? (level === 'restricted' ? restrictedProblem(context, pod) : undefined)
}

function baselineProblem(context: Fields): string | undefined {
  const { privileged, addedCapabilities } = readSecurityContext(context)
  const forbidden = addedCapabilities.find((name) => !BASELINE_CAPABILITIES.has(name))
  if (privileged) return 'it is privileged'
  if (isUnconfined(context.seccompProfile)) return 'its seccomp profile is Unconfined'
  if (isUnconfined(context.appArmorProfile)) return 'its AppArmor profile is Unconfined'
  return forbidden === undefined ? undefined : `it adds the capability ${forbidden}`
}

function isUnconfined(profile: unknown): boolean {
  return fieldsOrNone(profile).type === 'Unconfined'
}

function restrictedProblem(context: Fields, pod: Pick<Pod, 'hostUsers'>): string | undefined {
  const { runAsUser, runAsNonRoot, addedCapabilities, droppedCapabilities } =
    readSecurityContext(context)
  const forbidden = addedCapabilities.find((name) => name !== 'NET_BIND_SERVICE')
  // A pod in its own user namespace may run as root (check_runAsNonRoot.go, 1.35).
  if (pod.hostUsers && (runAsNonRoot !== true || runAsUser === 0)) return 'it may run as root'
  if (context.allowPrivilegeEscalation !== false) return 'its allowPrivilegeEscalation is not false'
  if (!droppedCapabilities.includes('ALL')) return 'it does not drop all capabilities'
  if (forbidden !== undefined) return `it adds the capability ${forbidden}`
  const profile = fieldsOrNone(context.seccompProfile).type
  const isConfined = profile === 'RuntimeDefault' || profile === 'Localhost'
  return isConfined ? undefined : 'it has no seccomp profile'
}
