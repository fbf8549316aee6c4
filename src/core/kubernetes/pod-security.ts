import { asText, type Fields, fieldsOrNone } from './json.ts'
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

/** The versions on which the rules of Pod Security depend. Each number is N in the version 1.N. */
export interface PodSecurityVersions {
  /** The version whose rules the namespace enforces; undefined for the latest rules. */
  readonly enforceVersion: number | undefined
  /** The version of the apiserver; undefined if it is not known. */
  readonly apiserverVersion: number | undefined
}

/** The first version in which `restricted` allows root in a pod with `hostUsers: false`. */
const ROOT_ALLOWED_SINCE = 35

/**
 * Reads the label that selects the version of the rules. An invalid label selects the latest rules,
 * as in the apiserver (pod-security-admission api/helpers.go, ParseVersion).
 *
 * @returns N of the version v1.N, or undefined for the latest rules
 */
export function readEnforceVersion(label: unknown): number | undefined {
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(asText(label) ?? '')?.[1]
  return minor === undefined ? undefined : Number(minor)
}

/**
 * Reports whether the level `restricted` allows the containers of a pod to run as root: the pod has
 * `hostUsers: false`, and the rules are at least those of 1.35 (pod-security-admission v0.35
 * policy/check_runAsNonRoot.go and check_runAsUser.go). An apiserver applies its own rules if the
 * namespace selects later ones (policy/registry.go). If the version of the apiserver is not known,
 * root is not allowed.
 */
export function allowsRoot(
  { hostUsers }: Pick<Pod, 'hostUsers'>,
  { enforceVersion = Number.POSITIVE_INFINITY, apiserverVersion = 0 }: PodSecurityVersions,
): boolean {
  return !hostUsers && Math.min(enforceVersion, apiserverVersion) >= ROOT_ALLOWED_SINCE
}

/**
 * Returns the property of an observer that a Pod Security level refuses, as a clause ("it is
 * privileged"), or undefined if the level accepts the observer. An observer has no ports, probes or
 * host paths, so only the checks of its securityContext apply. `restricted` allows the volumes of
 * tools, and since v0.33 also images (policy/check_restrictedVolumes.go).
 *
 * The rules come from pod-security-admission v0.36, package policy.
 *
 * @param context the observer's core/v1 SecurityContext
 * @param mayBeRoot the result of `allowsRoot` for the pod
 * @param podContext the pod's core/v1 PodSecurityContext, whose seccomp profile applies to an
 * observer that has none
 */
export function podSecurityProblem(
  level: PodSecurityLevel,
  context: Fields,
  mayBeRoot: boolean,
  podContext: Fields = {},
): string | undefined {
  if (level === 'privileged') return undefined
  const { seccompProfile = podContext.seccompProfile } = context
  const effective = { ...context, seccompProfile }
  const problem = baselineProblem(effective)
  return problem ?? (level === 'restricted' ? restrictedProblem(effective, mayBeRoot) : undefined)
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

function restrictedProblem(context: Fields, mayBeRoot: boolean): string | undefined {
  const { runAsUser, runAsNonRoot, addedCapabilities, droppedCapabilities } =
    readSecurityContext(context)
  const forbidden = addedCapabilities.find((name) => name !== 'NET_BIND_SERVICE')
  if (!mayBeRoot && (runAsNonRoot !== true || runAsUser === 0)) return 'it may run as root'
  if (context.allowPrivilegeEscalation !== false) return 'its allowPrivilegeEscalation is not false'
  if (!droppedCapabilities.includes('ALL')) return 'it does not drop all capabilities'
  if (forbidden !== undefined) return `it adds the capability ${forbidden}`
  const profile = fieldsOrNone(context.seccompProfile).type
  const isConfined = profile === 'RuntimeDefault' || profile === 'Localhost'
  return isConfined ? undefined : 'it has no seccomp profile'
}
