import type { Catalog } from './catalog.ts'
import type { Decision, Injected, Left, Observer, Stripped } from './decision.ts'
import { COMPLETION_INDEX_KEY, STATUS_KEY } from './keys.ts'
import { type EnvVar, field, plain } from './kubernetes/environment.ts'
import type { Fields } from './kubernetes/json.ts'
import type { Pod } from './kubernetes/pod.ts'
import { effectiveRestartPolicy } from './kubernetes/restart-policy.ts'
import { REASONS } from './reasons.ts'
import { exportOf } from './rules/exported-columns.ts'
import { hasRoom, leftStatus } from './status.ts'
import { TOKEN_VOLUME } from './tools/added-volumes.ts'
import {
  installers,
  resultsMounts,
  type TargetAdditions,
  targetAdditions,
  toolVariables,
  toolVolumes,
} from './tools/additions.ts'

/** The additions to a pod, and restored fields. Nothing in the pod is moved or removed. */
export interface Plan {
  readonly annotations: Fields
  readonly sharesProcessNamespace: boolean
  readonly volumes: readonly Fields[]
  /** The variables and mounts of the target; undefined if no metric has a tool. */
  readonly target: TargetAdditions | undefined
  /** The init containers that run before all others. */
  readonly firstInitContainers: readonly Fields[]
  readonly initContainers: readonly Fields[]
  readonly containers: readonly Fields[]
  /** The indexes of the init containers whose `restartPolicy: Always` is restored. */
  readonly stripped: Stripped
}

const NOTHING: Plan = {
  annotations: {},
  sharesProcessNamespace: false,
  volumes: [],
  target: undefined,
  firstInitContainers: [],
  initContainers: [],
  containers: [],
  stripped: [],
}

/**
 * The path at which the apiserver mounts the token of the pod's service account, unless the
 * container already has a mount at this path.
 */
const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Plans the additions to a pod for a decision.
 *
 * @param catalog the catalog, whose revision is passed to the observers
 * @param uid the UID of the admission request. The names of added volumes end with the first
 * characters of the UID, so that they are unique in the pod. The name of the apiserver's token
 * volume ends with five random characters for the same reason.
 */
export function plan(pod: Pod, decision: Decision, catalog: Catalog, uid: string): Plan {
  if (decision.outcome === 'left') return planLeft(pod, decision)
  if (decision.outcome === 'denied') return NOTHING
  if (decision.outcome === 'restored') {
    return { ...NOTHING, sharesProcessNamespace: true, stripped: decision.stripped }
  }
  const { observers } = decision
  const suffix = suffixOf(uid)
  const cover = pod.automountServiceAccountToken ? tokenCover(suffix) : undefined
  const mounts = cover === undefined ? [] : [coverMount(cover)]
  const env = environment(decision, pod, catalog.revision)
  const exported = exportOf(pod, decision, catalog)
  const results = resultsMounts(observers, suffix)
  const containers = observers.map((observer) => {
    const result = results.get(observer.metric.name)
    const own = result === undefined ? mounts : [...mounts, result]
    const variables = [...env, ...toolVariables(observer), ...exported(observer.metric)]
    return buildContainer(observer, restartPolicyOf(decision, pod), variables, own)
  })
  return {
    annotations: decision.annotations,
    sharesProcessNamespace: true,
    volumes: [...(cover === undefined ? [] : [cover]), ...toolVolumes(observers, suffix)],
    target: targetAdditions(pod.spec, decision, suffix),
    firstInitContainers: installers(observers, suffix, mounts),
    initContainers: decision.mode === 'native' ? containers : [],
    containers: decision.mode === 'container' ? containers : [],
    stripped: decision.stripped,
  }
}

function planLeft(pod: Pod, { reason, message }: Left): Plan {
  if (!REASONS[reason].written) return NOTHING
  const annotations = { [STATUS_KEY]: leftStatus(reason, message) }
  const isThere = pod.annotations?.[STATUS_KEY] === annotations[STATUS_KEY]
  return isThere || !hasRoom(pod, annotations) ? NOTHING : { ...NOTHING, annotations }
}

/**
 * Returns an empty read-only volume to mount over the token. The volume is projected, like the
 * volume of the token, because a policy that allows the token also allows such a volume. An
 * emptyDir counts as local storage and would prevent `kubectl drain` and the cluster autoscaler
 * from evicting the pod.
 */
function tokenCover(suffix: string): { readonly name: string; readonly projected: Fields } {
  return { name: TOKEN_VOLUME + suffix, projected: { sources: [{ downwardAPI: {} }] } }
}

function coverMount({ name }: { readonly name: string }): Fields {
  return { name, mountPath: TOKEN_PATH, readOnly: true }
}

/** Returns the end of the names of added volumes. */
function suffixOf(uid: string): string {
  const letters = uid.toLowerCase().replace(/[^a-z0-9]/g, '')
  return letters.slice(0, 8) || '0'
}

/**
 * Returns the restart policy of the observers' containers: `Always` for native sidecars. In mode
 * `container`, an observer has the policy of its target, so that the kubelet does not start it
 * again after it has ended with the target.
 */
function restartPolicyOf(
  { mode, targetRestarts: { restartPolicy } }: Injected,
  pod: Pod,
): string | undefined {
  if (mode === 'native') return 'Always'
  return restartPolicy === pod.restartPolicy ? undefined : restartPolicy
}

function buildContainer(
  { metric, options, resources, securityContext }: Observer,
  restartPolicy: string | undefined,
  env: readonly EnvVar[],
  volumeMounts: readonly Fields[],
): Fields {
  const { name, container } = metric
  return {
    name,
    image: container.image,
    imagePullPolicy: container.imagePullPolicy ?? 'IfNotPresent',
    command: container.command,
    args: container.args,
    restartPolicy,
    env: [...(container.env ?? []), ...env, ...options],
    resources,
    securityContext,
    volumeMounts: volumeMounts.length > 0 ? volumeMounts : undefined,
  }
}

/** The names of the observer's pod, namespace and node, from the downward API. */
const PLACE = [
  field('POD_NAME', 'metadata.name'),
  field('POD_NAMESPACE', 'metadata.namespace'),
  field('NODE_NAME', 'spec.nodeName'),
]
const COMPLETION_INDEX = field(
  'JOB_COMPLETION_INDEX',
  `metadata.annotations['${COMPLETION_INDEX_KEY}']`,
)

/** Returns the environment variables that all added observers get. */
function environment(
  { mode, target, targetRestarts, targetCommand, observers, present }: Injected,
  pod: Pod,
  revision: string,
): readonly EnvVar[] {
  const names = [...present, ...observers.map(({ metric }) => metric.name)]
  const env = [
    ...PLACE,
    plain('RIDEALONG_CATALOG', revision),
    plain('RIDEALONG_MODE', mode),
    plain('RIDEALONG_RESTART_POLICY', effectiveRestartPolicy(pod, targetRestarts)),
    plain('RIDEALONG_TARGET_CONTAINER', target),
    // Each observer skips the containers of all observers.
    plain('RIDEALONG_OBSERVERS', names.join(' ')),
  ]
  // In the pod, nothing tells the network of the node from one of its own.
  if (pod.hostNetwork) env.push(plain('RIDEALONG_HOST_NETWORK', 'true'))
  const owner = pod.owner === undefined ? '' : `${pod.owner.kind}/${pod.owner.name}`
  if (targetCommand !== undefined) env.push(plain('RIDEALONG_TARGET_COMMAND', targetCommand))
  if (isPrintable(owner)) env.push(plain('RIDEALONG_OWNER', owner))
  if (pod.annotations?.[COMPLETION_INDEX_KEY] !== undefined) env.push(COMPLETION_INDEX)
  return env
}

/**
 * Reports whether text consists of 1 to 512 printable ASCII characters. Other text is not passed in
 * a variable: Kubernetes does not validate the name of an owner, and container runtimes refuse a
 * value with a NUL character.
 */
function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]{1,512}$/.test(text)
}
