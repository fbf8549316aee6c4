/**
 * The rules of OpenShift's SecurityContextConstraints (SCC) for the fields that observers have,
 * written from the source of openshift/apiserver-library-go, pkg/securitycontextconstraints. Like
 * the admission plugin, `admitBy` first sets the fields that an SCC defaults, and then validates
 * the pod.
 */
import type { Json } from '../build.ts'

/** The fields of an SCC that concern observers. */
export interface Constraints {
  readonly name: string
  readonly user:
    | { readonly type: 'RunAsAny' | 'MustRunAsNonRoot' }
    | { readonly type: 'MustRunAs'; readonly uid: number }
    | { readonly type: 'MustRunAsRange'; readonly min: number; readonly max: number }
  /** The SELinux level of the strategy MustRunAs; undefined for RunAsAny. */
  readonly seLinuxLevel?: string
  /** Annotation values such as `runtime/default`, `*` or `localhost/NAME`. */
  readonly seccompProfiles?: readonly string[]
  readonly allowedCapabilities?: readonly string[]
  readonly defaultAddCapabilities?: readonly string[]
  readonly requiredDropCapabilities?: readonly string[]
  readonly allowPrivilegedContainer?: boolean
  readonly allowPrivilegeEscalation?: boolean
  readonly readOnlyRootFilesystem?: boolean
  readonly volumes?: readonly string[]
}

const RANGE = { type: 'MustRunAsRange', min: 1_000_920_000, max: 1_000_929_999 } as const
const LEVEL = 's0:c30,c20'
const LEGACY_DROP = ['KILL', 'MKNOD', 'SETUID', 'SETGID']
const V2 = {
  seccompProfiles: ['runtime/default'],
  requiredDropCapabilities: ['ALL'],
  allowedCapabilities: ['NET_BIND_SERVICE'],
  allowPrivilegeEscalation: false,
  seLinuxLevel: LEVEL,
}

/** The SCCs of openshift/cluster-kube-apiserver-operator, bindata/bootkube/scc-manifests. */
export const STANDARD: readonly Constraints[] = [
  {
    name: 'anyuid',
    user: { type: 'RunAsAny' },
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: ['MKNOD'],
  },
  {
    name: 'hostaccess',
    user: RANGE,
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: LEGACY_DROP,
  },
  {
    name: 'hostmount-anyuid',
    user: { type: 'RunAsAny' },
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: ['MKNOD'],
  },
  {
    name: 'hostmount-anyuid-v2',
    user: { type: 'RunAsAny' },
    requiredDropCapabilities: ['MKNOD'],
  },
  {
    name: 'hostnetwork',
    user: RANGE,
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: LEGACY_DROP,
  },
  { name: 'hostnetwork-v2', user: RANGE, ...V2 },
  {
    name: 'nested-container',
    user: { type: 'MustRunAsRange', min: 0, max: 65_534 },
    seccompProfiles: ['*'],
    allowedCapabilities: ['SETUID', 'SETGID'],
  },
  {
    name: 'nonroot',
    user: { type: 'MustRunAsNonRoot' },
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: LEGACY_DROP,
  },
  { name: 'nonroot-v2', user: { type: 'MustRunAsNonRoot' }, ...V2 },
  {
    name: 'privileged',
    user: { type: 'RunAsAny' },
    seccompProfiles: ['*'],
    allowedCapabilities: ['*'],
    allowPrivilegedContainer: true,
  },
  {
    name: 'restricted',
    user: RANGE,
    seLinuxLevel: LEVEL,
    requiredDropCapabilities: LEGACY_DROP,
  },
  { name: 'restricted-v2', user: RANGE, ...V2 },
  { name: 'restricted-v3', user: { type: 'MustRunAsRange', min: 1000, max: 65_534 }, ...V2 },
]

const mapOf = (value: unknown): Json => (value ?? {}) as Json
const listOf = (value: unknown): readonly Json[] => (value ?? []) as readonly Json[]
const textsOf = (value: unknown): readonly string[] => (value ?? []) as readonly string[]

/**
 * Applies the defaults of an SCC to a pod and validates the result.
 *
 * @returns the pod with the defaults, and the annotation that OpenShift adds, or the problems
 */
export function admitBy(
  constraints: Constraints,
  pod: Json,
): { readonly pod: Json } | { readonly problems: readonly string[] } {
  const defaulted = withDefaults(constraints, pod)
  const problems = problemsOf(constraints, defaulted)
  return problems.length > 0 ? { problems } : { pod: defaulted }
}

/** provider.go, CreatePodSecurityContext and CreateContainerSecurityContext. */
function withDefaults(constraints: Constraints, pod: Json): Json {
  const spec = mapOf(pod.spec)
  const metadata = mapOf(pod.metadata)
  const podContext = { ...mapOf(spec.securityContext) }
  const level = constraints.seLinuxLevel
  if (level !== undefined) podContext.seLinuxOptions ??= { level }
  const first = (constraints.seccompProfiles ?? []).find((profile) => profile !== '*')
  if (first !== undefined) podContext.seccompProfile ??= fieldOf(first)
  const each = (containers: unknown) =>
    listOf(containers).map((container) => ({
      ...container,
      securityContext: contextWithDefaults(
        constraints,
        podContext,
        mapOf(container.securityContext),
      ),
    }))
  const annotations = { ...mapOf(metadata.annotations), 'openshift.io/scc': constraints.name }
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: {
      ...spec,
      securityContext: podContext,
      containers: each(spec.containers),
      ...(spec.initContainers !== undefined && { initContainers: each(spec.initContainers) }),
    },
  }
}

function contextWithDefaults(constraints: Constraints, podContext: Json, declared: Json): Json {
  const { user } = constraints
  const uid = (declared.runAsUser ?? podContext.runAsUser ?? generateUser(user)) as
    | number
    | undefined
  const isNonRoot = uid === undefined ? user.type === 'MustRunAsNonRoot' : uid > 0
  const context: Record<string, unknown> = { ...declared }
  if (podContext.runAsUser === undefined) context.runAsUser = uid
  if (podContext.runAsNonRoot === undefined && isNonRoot) context.runAsNonRoot ??= true
  context.capabilities = capabilitiesWithDefaults(constraints, context.capabilities)
  if (constraints.readOnlyRootFilesystem) context.readOnlyRootFilesystem ??= true
  if (constraints.allowPrivilegeEscalation === false) context.allowPrivilegeEscalation ??= false
  return context
}

/** user/mustrunas.go and mustrunasrange.go, Generate. */
function generateUser(user: Constraints['user']): number | undefined {
  if (user.type === 'MustRunAs') return user.uid
  return user.type === 'MustRunAsRange' ? user.min : undefined
}

/** capabilities/mustrunas.go, Generate. */
function capabilitiesWithDefaults(constraints: Constraints, declared: unknown): unknown {
  const { add, drop } = mapOf(declared)
  const [added, dropped] = [new Set(textsOf(add)), new Set(textsOf(drop))]
  const more = (constraints.defaultAddCapabilities ?? []).filter((name) => !dropped.has(name))
  const allAdded = new Set([...added, ...more])
  const allDropped = new Set([...dropped, ...(constraints.requiredDropCapabilities ?? [])])
  if (allAdded.size === added.size && allDropped.size === dropped.size) return declared
  return { add: [...allAdded].sort(), drop: [...allDropped].sort() }
}

/** provider.go, ValidatePodSecurityContext and ValidateContainerSecurityContext. */
function problemsOf(constraints: Constraints, pod: Json): readonly string[] {
  const spec = mapOf(pod.spec)
  const podContext = mapOf(spec.securityContext)
  const containers = [...listOf(spec.containers), ...listOf(spec.initContainers)]
  const levels = [podContext, ...containers.map(({ securityContext }) => mapOf(securityContext))]
  return [
    ...seccompProblems(constraints, annotationOf(podContext.seccompProfile)),
    ...levels.flatMap(({ seLinuxOptions }) => seLinuxProblems(constraints, seLinuxOptions)),
    ...listOf(spec.volumes).flatMap((volume) => volumeProblems(constraints, volume)),
    ...containers.flatMap(({ name, securityContext }) => {
      const context = { ...podContext, ...mapOf(securityContext) }
      return containerProblems(constraints, context).map((problem) => `${name}: ${problem}`)
    }),
  ]
}

function containerProblems(constraints: Constraints, context: Json): readonly string[] {
  const isEscalating = context.allowPrivilegeEscalation !== false
  const isForbidden = constraints.allowPrivilegeEscalation === false && isEscalating
  const isWritable = constraints.readOnlyRootFilesystem && context.readOnlyRootFilesystem !== true
  const isPrivileged = context.privileged === true && !constraints.allowPrivilegedContainer
  return [
    ...userProblems(constraints, context),
    ...seccompProblems(constraints, annotationOf(context.seccompProfile)),
    ...capabilityProblems(constraints, context.capabilities),
    ...(isForbidden ? ['allowPrivilegeEscalation'] : []),
    ...(isWritable ? ['readOnlyRootFilesystem'] : []),
    ...(isPrivileged ? ['privileged'] : []),
  ]
}

/** user/mustrunas.go, mustrunasrange.go and nonroot.go, Validate. */
function userProblems({ user }: Constraints, { runAsUser, runAsNonRoot }: Json): readonly string[] {
  const uid = runAsUser as number | undefined
  const isAllowed = {
    RunAsAny: () => true,
    MustRunAs: () => 'uid' in user && uid === user.uid,
    MustRunAsRange: () => 'min' in user && isWithin(uid, user),
    MustRunAsNonRoot: () => uid !== 0 && (runAsNonRoot ?? uid !== undefined) === true,
  }[user.type]
  return isAllowed() ? [] : ['user']
}

function isWithin(uid: number | undefined, range: { min: number; max: number }): boolean {
  return uid !== undefined && uid >= range.min && uid <= range.max
}

/** seccomp/strategy.go, validateProfile. */
function seccompProblems({ seccompProfiles = [] }: Constraints, profile: string): string[] {
  const allowed = seccompProfiles.filter((name) => name !== '*')
  if (seccompProfiles.includes('*') || allowed.includes(profile)) return []
  return allowed.length === 0 && profile === '' ? [] : [`seccomp ${profile}`]
}

function annotationOf(profile: unknown): string {
  const { type, localhostProfile } = mapOf(profile)
  if (type === 'RuntimeDefault') return 'runtime/default'
  if (type === 'Unconfined') return 'unconfined'
  return type === 'Localhost' ? `localhost/${localhostProfile}` : ''
}

function fieldOf(annotation: string): Json {
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  return { type: 'Localhost', localhostProfile: annotation.replace('localhost/', '') }
}

/** selinux/mustrunas.go, Validate, for a strategy that only sets the level. */
function seLinuxProblems({ seLinuxLevel }: Constraints, options: unknown): readonly string[] {
  if (seLinuxLevel === undefined || options === undefined) return []
  return mapOf(options).level === seLinuxLevel ? [] : ['seLinuxOptions']
}

/** capabilities/mustrunas.go, Validate. */
function capabilityProblems(constraints: Constraints, declared: unknown): readonly string[] {
  const { allowedCapabilities = [], defaultAddCapabilities = [] } = constraints
  const { requiredDropCapabilities = [] } = constraints
  if (declared === undefined)
    return defaultAddCapabilities.length + requiredDropCapabilities.length > 0 ? ['drop'] : []
  if (allowedCapabilities.includes('*')) return []
  const { add, drop } = mapOf(declared)
  const allowed = [...allowedCapabilities, ...defaultAddCapabilities]
  const added = textsOf(add).filter((name) => !allowed.includes(name))
  const kept = requiredDropCapabilities.filter((name) => !textsOf(drop).includes(name))
  return [...added.map((name) => `add ${name}`), ...kept.map((name) => `drop ${name}`)]
}

/**
 * provider.go, allowsVolumeType. Secrets also allow a projected volume whose sources are those of a
 * token (util/util.go, IsOnlyServiceAccountTokenSources).
 */
function volumeProblems({ volumes }: Constraints, volume: Json): readonly string[] {
  const kind = Object.keys(volume).find((key) => key !== 'name') ?? ''
  if (volumes === undefined || volumes.includes(kind)) return []
  const sources = listOf(mapOf(volume.projected).sources)
  const isToken = kind === 'projected' && sources.every(isTokenSource)
  return isToken && volumes.includes('secret') ? [] : [`volume ${kind}`]
}

function isTokenSource(source: Json): boolean {
  if (source.downwardAPI !== undefined) return listOf(mapOf(source.downwardAPI).items).length === 0
  return source.serviceAccountToken !== undefined
}
