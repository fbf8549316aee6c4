import { asFields, asFlag, asId, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'
import { type ContainerRestarts, readRestarts } from './restart-policy.ts'
import { isWindows } from './windows.ts'

/**
 * The fields of a pod that Ridealong uses, with their types. The received pod itself is never
 * modified, and never converted to typed classes, which would drop fields that they do not declare.
 */
export interface Pod {
  /** The number of characters in the JSON that contained the pod. No value in the pod is longer. */
  readonly size: number
  /**
   * The name, or the prefix of the name that the apiserver will generate. Use it only in messages.
   */
  readonly name: string
  readonly annotations: Fields | undefined
  readonly labels: Fields
  readonly owner: Owner | undefined
  readonly hostNetwork: boolean
  readonly hostPID: boolean
  readonly hostUsers: boolean
  /** Whether the pod can only run on Windows. */
  readonly isWindows: boolean
  /**
   * The value of `spec.shareProcessNamespace`. An explicit `false` is not treated as a user's
   * choice, because operators also write this value.
   */
  readonly shareProcessNamespace: 'absent' | 'false' | 'true'
  readonly automountServiceAccountToken: boolean
  readonly restartPolicy: string
  readonly hasVolumes: boolean
  readonly hasInitContainers: boolean
  /** Whether the pod-level `spec.resources` has requests or limits. */
  readonly hasResources: boolean
  readonly securityContext: SecurityContext
  readonly initContainers: readonly Container[]
  readonly containers: readonly [Container, ...Container[]]
  /** The metadata and the spec as received, for rules that need fields not listed above. */
  readonly metadata: Fields
  readonly spec: Fields
}

/** The controller that created the pod. */
export interface Owner {
  readonly kind: string
  readonly name: string
}

/** The fields of a container that Ridealong uses. */
export interface Container extends ContainerRestarts {
  readonly name: string
  readonly requests: Fields
  readonly limits: Fields
  readonly securityContext: SecurityContext
}

/**
 * The fields of a core/v1 SecurityContext or PodSecurityContext that affect which processes a
 * container can observe.
 */
export interface SecurityContext {
  readonly runAsUser: number | undefined
  readonly runAsGroup: number | undefined
  readonly runAsNonRoot: boolean | undefined
  readonly privileged: boolean
  readonly addedCapabilities: readonly string[]
  readonly droppedCapabilities: readonly string[]
  /** The type of `appArmorProfile`, and for Localhost its name. */
  readonly appArmor: string | undefined
  /** The user, role, type and level of `seLinuxOptions`, separated by blanks. */
  readonly seLinux: string | undefined
}

/**
 * Reads a pod that has not been validated.
 *
 * @param object the `request.object` of an AdmissionReview, or any JSON
 * @param size the number of characters in the JSON that contained the pod; Infinity if unknown
 * @returns the pod, or a sentence that names the invalid field
 */
export function readPod(
  object: unknown,
  size = Number.POSITIVE_INFINITY,
): Pod | { readonly problem: string } {
  const parts = readParts(object)
  if ('problem' in parts) return parts
  const { metadata, spec, initContainers, containers } = parts
  const restartPolicy = asText(spec.restartPolicy) ?? 'Always'
  if (restartPolicy.length > MAX_NAME_LENGTH) return { problem: 'spec.restartPolicy is not valid' }
  return {
    size,
    name: asText(metadata.name || metadata.generateName) ?? '',
    annotations: asFields(metadata.annotations),
    labels: fieldsOrNone(metadata.labels),
    owner: readOwner(metadata.ownerReferences),
    hostNetwork: spec.hostNetwork === true,
    hostPID: spec.hostPID === true,
    hostUsers: spec.hostUsers !== false,
    isWindows: isWindows(spec),
    shareProcessNamespace: readSharing(spec.shareProcessNamespace),
    automountServiceAccountToken: spec.automountServiceAccountToken !== false,
    restartPolicy,
    hasVolumes: Array.isArray(spec.volumes),
    hasInitContainers: Array.isArray(spec.initContainers),
    hasResources: hasResources(spec.resources),
    securityContext: readSecurityContext(spec.securityContext),
    initContainers,
    containers,
    metadata,
    spec,
  }
}

/**
 * Reads the parts of a pod that a patch adds to. The metadata, the spec and the containers are
 * required. Every other part must be absent or have the right type.
 */
function readParts(object: unknown): Parts | { readonly problem: string } {
  const metadata = asFields(asFields(object)?.metadata)
  const spec = asFields(asFields(object)?.spec)
  if (!metadata || !spec) return { problem: 'the pod must have metadata and a spec' }
  const initContainers = readContainers(spec.initContainers)
  if (!initContainers) return { problem: `spec.initContainers must be a ${CONTAINERS}` }
  const [first, ...others] = readContainers(spec.containers) ?? []
  if (!first) return { problem: `spec.containers must be a non-empty ${CONTAINERS}` }
  const problem = findProblem(metadata.annotations, spec.volumes)
  return problem ?? { metadata, spec, initContainers, containers: [first, ...others] }
}

function findProblem(annotations: unknown, volumes: unknown): { problem: string } | undefined {
  const isMap = asFields(annotations ?? {}) !== undefined
  if (!isMap) return { problem: 'metadata.annotations must be a map' }
  return Array.isArray(volumes ?? []) ? undefined : { problem: 'spec.volumes must be a list' }
}

interface Parts extends Pick<Pod, 'initContainers' | 'containers'> {
  readonly metadata: Fields
  readonly spec: Fields
}

/**
 * The maximum number of containers in a list. Kubernetes cannot store a pod with more containers.
 * The etcd client of the apiserver sends at most 2 MiB (go.etcd.io/etcd/client/v3 options.go,
 * defaultMaxCallSendMsgSize). A container with all required and defaulted fields takes at least 38
 * bytes (kubernetes v1.36 staging/src/k8s.io/api/core/v1/generated.proto, Container).
 */
const MAX_CONTAINERS = 2 ** 16

/**
 * The maximum length of a container name, which is a DNS label (validation.go,
 * validateContainerCommon, ValidateDNS1123Label).
 */
const MAX_NAME_LENGTH = 63
const CONTAINERS = `list of containers with names of at most ${MAX_NAME_LENGTH} characters`

function readContainers(value: unknown): Container[] | undefined {
  if (!Array.isArray(value ?? []) || listOrNone(value).length > MAX_CONTAINERS) return undefined
  const containers = listOrNone(value).map(readContainer)
  return containers.every((container) => container !== undefined) ? containers : undefined
}

function readContainer(value: unknown): Container | undefined {
  const container = asFields(value)
  const name = asText(container?.name)
  if (container === undefined || name === undefined || name.length > MAX_NAME_LENGTH)
    return undefined
  const resources = fieldsOrNone(container.resources)
  return {
    name,
    ...readRestarts(container),
    requests: fieldsOrNone(resources.requests),
    limits: fieldsOrNone(resources.limits),
    securityContext: readSecurityContext(container.securityContext),
  }
}

/** Reads a SecurityContext or PodSecurityContext. Missing fields are undefined, false or empty. */
export function readSecurityContext(value: unknown): SecurityContext {
  const context = asFields(value)
  return context === undefined ? NO_CONTEXT : readContext(context)
}

function readContext(context: Fields): SecurityContext {
  const capabilities = fieldsOrNone(context.capabilities)
  return {
    runAsUser: asId(context.runAsUser),
    runAsGroup: asId(context.runAsGroup),
    runAsNonRoot: asFlag(context.runAsNonRoot),
    privileged: context.privileged === true,
    addedCapabilities: readCapabilities(capabilities.add),
    droppedCapabilities: readCapabilities(capabilities.drop),
    appArmor: readAppArmor(context.appArmorProfile),
    seLinux: readSeLinux(context.seLinuxOptions),
  }
}

function readAppArmor(value: unknown): string | undefined {
  const { type, localhostProfile } = fieldsOrNone(value)
  return type === 'Localhost' ? `${type} ${asText(localhostProfile) ?? ''}` : asText(type)
}

function readSeLinux(value: unknown): string | undefined {
  const options = asFields(value)
  if (options === undefined) return undefined
  return [options.user, options.role, options.type, options.level]
    .map((part) => asText(part) ?? '')
    .join(' ')
}

/** Matches a capability name. Container runtimes know the names in linux/capability.h. */
const CAPABILITY = /^[A-Z_]{1,32}$/i

/**
 * The maximum number of names in a list of capabilities. A capability set has 64 bits
 * (include/linux/capability.h, kernel_cap_t), and the name ALL is also allowed.
 */
export const MAX_CAPABILITIES = 65

/**
 * Reads a list of capabilities without duplicates. Names that cannot be a capability are skipped,
 * because they have no effect. From a list with more names than there are capabilities, only ALL
 * and the first `MAX_CAPABILITIES` + 1 names are read.
 */
function readCapabilities(value: unknown): readonly string[] {
  const list = listOrNone(value)
  const names = new Set<string>()
  for (const name of list) {
    if (isCapability(name)) names.add(name)
    if (names.size > MAX_CAPABILITIES) break
  }
  if (names.size > MAX_CAPABILITIES && list.includes('ALL')) names.add('ALL')
  return [...names]
}

function isCapability(name: unknown): name is string {
  return typeof name === 'string' && CAPABILITY.test(name)
}

/** Shared by all pods and containers that have no security context. */
const NO_CONTEXT = readContext({})

function readOwner(value: unknown): Owner | undefined {
  const owner = listOrNone(value).find((reference) => asFields(reference)?.controller === true)
  const kind = asText(asFields(owner)?.kind)
  const name = asText(asFields(owner)?.name)
  return kind !== undefined && name !== undefined ? { kind, name } : undefined
}

function readSharing(value: unknown): Pod['shareProcessNamespace'] {
  if (value === true) return 'true'
  return value === false ? 'false' : 'absent'
}

function hasResources(value: unknown): boolean {
  const resources = fieldsOrNone(value)
  return asFields(resources.requests) !== undefined || asFields(resources.limits) !== undefined
}
