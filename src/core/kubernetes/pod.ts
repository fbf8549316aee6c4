import { asFields, asFlag, asId, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/**
 * What Ridealong looks at in a pod, typed. The pod itself stays as it came: it is never edited,
 * cloned or sent back through typed classes, which would drop the fields that they do not know.
 */
export interface Pod {
  /** The characters of JSON that it came as: no part of it takes more. */
  readonly size: number
  /** The name, or the prefix that the apiserver will complete: for people to read, never a key. */
  readonly name: string
  readonly annotations: Fields | undefined
  readonly labels: Fields
  readonly owner: Owner | undefined
  readonly hostPID: boolean
  readonly hostUsers: boolean
  readonly os: string | undefined
  /** What the pod says of itself; an operator's explicit `false` is not a person's wish. */
  readonly shareProcessNamespace: 'absent' | 'false' | 'true'
  readonly automountServiceAccountToken: boolean
  readonly restartPolicy: string
  readonly hasVolumes: boolean
  readonly hasInitContainers: boolean
  /** The pod-level `spec.resources`, where it says anything. */
  readonly hasResources: boolean
  readonly securityContext: SecurityContext
  readonly initContainers: readonly Container[]
  readonly containers: readonly [Container, ...Container[]]
  /** As it came, for what only a namespace with a LimitRange or a ResourceQuota makes us look at. */
  readonly spec: Fields
}

/** The controller that made the pod. */
export interface Owner {
  readonly kind: string
  readonly name: string
}

/** What Ridealong looks at in a container. */
export interface Container {
  readonly name: string
  /** An init container that does this is a native sidecar (KEP-753). */
  readonly restartsAlways: boolean
  readonly requests: Fields
  readonly limits: Fields
  readonly securityContext: SecurityContext
}

/** The part of a core/v1 SecurityContext or PodSecurityContext that decides what /proc shows. */
export interface SecurityContext {
  readonly runAsUser: number | undefined
  readonly runAsGroup: number | undefined
  readonly runAsNonRoot: boolean | undefined
  readonly privileged: boolean
  readonly addedCapabilities: readonly string[]
  readonly droppedCapabilities: readonly string[]
}

/**
 * Reads a pod that may be nonsense.
 *
 * @param object the `request.object` of an AdmissionReview, or any JSON
 * @param size the characters of JSON that it came as; Infinity where nobody knows
 * @returns the pod, or a sentence that names the field which no pod can have
 */
export function readPod(
  object: unknown,
  size = Number.POSITIVE_INFINITY,
): Pod | { readonly problem: string } {
  const parts = readParts(object)
  if ('problem' in parts) return parts
  const { metadata, spec, initContainers, containers } = parts
  const restartPolicy = asText(spec.restartPolicy) ?? 'Always'
  if (restartPolicy.length > LONGEST_NAME) return { problem: 'spec.restartPolicy is too long' }
  return {
    size,
    name: asText(metadata.name || metadata.generateName) ?? '',
    annotations: asFields(metadata.annotations),
    labels: fieldsOrNone(metadata.labels),
    owner: readOwner(metadata.ownerReferences),
    hostPID: spec.hostPID === true,
    hostUsers: spec.hostUsers !== false,
    os: readOs(spec),
    shareProcessNamespace: readSharing(spec.shareProcessNamespace),
    automountServiceAccountToken: spec.automountServiceAccountToken !== false,
    restartPolicy,
    hasVolumes: Array.isArray(spec.volumes),
    hasInitContainers: Array.isArray(spec.initContainers),
    hasResources: hasResources(spec.resources),
    securityContext: readSecurityContext(spec.securityContext),
    initContainers,
    containers,
    spec,
  }
}

/** The parts of a pod that a patch adds to: each must be what it is, or not be there. */
function readParts(object: unknown): Parts | { readonly problem: string } {
  const metadata = asFields(asFields(object)?.metadata)
  const spec = asFields(asFields(object)?.spec)
  if (!metadata || !spec) return { problem: 'the pod has no metadata or no spec' }
  const initContainers = readContainers(spec.initContainers)
  if (!initContainers) return { problem: 'spec.initContainers is no list of containers' }
  const [first, ...others] = readContainers(spec.containers) ?? []
  if (!first) return { problem: 'spec.containers is no list of containers' }
  const problem = findProblem(metadata.annotations, spec.volumes)
  return problem ?? { metadata, spec, initContainers, containers: [first, ...others] }
}

function findProblem(annotations: unknown, volumes: unknown): { problem: string } | undefined {
  const isMap = asFields(annotations ?? {}) !== undefined
  if (!isMap) return { problem: 'metadata.annotations is no map' }
  return Array.isArray(volumes ?? []) ? undefined : { problem: 'spec.volumes is no list' }
}

interface Parts extends Pick<Pod, 'initContainers' | 'containers'> {
  readonly metadata: Fields
  readonly spec: Fields
}

/**
 * Kubernetes can store no pod with more containers. Its client of etcd sends at most 2 MiB
 * (go.etcd.io/etcd/client/v3 options.go, defaultMaxCallSendMsgSize), and a container with the fields
 * that are required or defaulted takes at least 38 bytes of that (kubernetes v1.36
 * staging/src/k8s.io/api/core/v1/generated.proto, Container).
 */
const MOST_CONTAINERS = 2 ** 16

/** A name is a DNS label (validation.go, validateContainerCommon, ValidateDNS1123Label). */
const LONGEST_NAME = 63

function readContainers(value: unknown): Container[] | undefined {
  if (!Array.isArray(value ?? []) || listOrNone(value).length > MOST_CONTAINERS) return undefined
  const containers = listOrNone(value).map(readContainer)
  return containers.every((container) => container !== undefined) ? containers : undefined
}

function readContainer(value: unknown): Container | undefined {
  const container = asFields(value)
  const name = asText(container?.name)
  if (container === undefined || name === undefined || name.length > LONGEST_NAME) return undefined
  const resources = fieldsOrNone(container.resources)
  return {
    name,
    restartsAlways: container.restartPolicy === 'Always',
    requests: fieldsOrNone(resources.requests),
    limits: fieldsOrNone(resources.limits),
    securityContext: readSecurityContext(container.securityContext),
  }
}

/** Reads a SecurityContext or PodSecurityContext; what it does not say is undefined or empty. */
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
  }
}

/** Shared by all containers without one. */
const NO_CONTEXT = readContext({})

/** Container runtimes compare names of capabilities with those of linux/capability.h. */
const CAPABILITY = /^[A-Z_]{1,32}$/i

/** The capabilities of a list, each once. What cannot be the name of one has no effect anywhere. */
function readCapabilities(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  const names = new Set<string>()
  for (const name of value) {
    if (typeof name === 'string' && CAPABILITY.test(name)) names.add(name)
  }
  return [...names]
}

function readOwner(value: unknown): Owner | undefined {
  const owner = listOrNone(value).find((reference) => asFields(reference)?.controller === true)
  const kind = asText(asFields(owner)?.kind)
  const name = asText(asFields(owner)?.name)
  return kind !== undefined && name !== undefined ? { kind, name } : undefined
}

function readOs(spec: Fields): string | undefined {
  const nodeSelector = fieldsOrNone(spec.nodeSelector)
  return (
    asText(asFields(spec.os)?.name) ??
    asText(nodeSelector['kubernetes.io/os']) ??
    asText(nodeSelector['beta.kubernetes.io/os'])
  )
}

function readSharing(value: unknown): Pod['shareProcessNamespace'] {
  if (value === true) return 'true'
  return value === false ? 'false' : 'absent'
}

function hasResources(value: unknown): boolean {
  const resources = fieldsOrNone(value)
  return asFields(resources.requests) !== undefined || asFields(resources.limits) !== undefined
}
