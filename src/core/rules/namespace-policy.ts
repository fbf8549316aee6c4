import { covers, type Privilege } from '../catalog.ts'
import { type Denied, type Left, leaveOrDeny, type Observer } from '../decision.ts'
import { PRIVILEGE_LABEL, TOOLS_LABEL } from '../keys.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { filledProblem, limitRangeProblem } from '../kubernetes/limit-range-problem.ts'
import type { Pod } from '../kubernetes/pod.ts'
import {
  type ContainerResources,
  type Resources,
  readContainerResources,
  readPodResources,
} from '../kubernetes/pod-resources.ts'
import { allowsRoot, podSecurityProblem } from '../kubernetes/pod-security.ts'
import { quotaProblem } from '../kubernetes/quota-problem.ts'
import { readResourceList } from '../kubernetes/resource-list.ts'
import { ruledResources } from '../kubernetes/ruled-resources.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import type { Reason } from '../reasons.ts'
import type { Mode, OnError } from '../request.ts'
import { quote } from '../text/quote.ts'
import { installerName } from '../tools/tool.ts'
import { constraintsProblem } from './openshift.ts'

interface PolicyProblem {
  readonly reason: Reason
  readonly message: string
}

/** The settings of a request that the policy check uses. */
interface InjectionTerms {
  readonly mode: Mode
  readonly onError: OnError
}

/** The rules for pods in a namespace. */
export interface RuleSource {
  readonly namespace: Namespace
  /**
   * The Pod Security level of namespaces without the `enforce` label: `defaults.enforce` in the
   * apiserver's PodSecurityConfiguration, which no API exposes. The default of Kubernetes is
   * `privileged` (pod-security-admission admission/api/v1/defaults.go).
   */
  readonly podSecurityDefault?: Privilege | undefined
  /**
   * The version 1.N of the apiserver, on which the rules of Pod Security depend; undefined if it is
   * not known.
   */
  readonly apiserverVersion?: number | undefined
}

/**
 * Leaves or denies a pod if the privilege that its namespace grants, or the rules of Kubernetes in
 * this namespace, would not allow the observers.
 *
 * @returns undefined if the observers are allowed
 */
export function checkNamespacePolicy(
  rules: RuleSource,
  pod: Pod,
  { mode, onError }: InjectionTerms,
  observers: readonly Observer[],
): Left | Denied | undefined {
  const { namespace } = rules
  const problem =
    observers
      .map(
        (observer) =>
          privilegeProblem(namespace, observer) ??
          toolProblem(namespace, observer) ??
          standardProblem(rules, pod, observer) ??
          openShiftProblem(pod, observer),
      )
      .find((found) => found !== undefined) ?? resourceProblem(namespace, pod, mode, observers)
  return problem && leaveOrDeny(onError, problem.reason, problem.message)
}

function privilegeProblem(namespace: Namespace, { metric }: Observer): PolicyProblem | undefined {
  if (covers(namespace.privilege, metric.privilege)) return undefined
  const needed = `metric ${metric.name} needs the privilege ${metric.privilege}`
  const granted = `namespace ${quote(namespace.name)} grants ${namespace.privilege}`
  const message = `${needed}, but ${granted} (label ${PRIVILEGE_LABEL})`
  return { reason: 'privilege', message }
}

function toolProblem(namespace: Namespace, { metric }: Observer): PolicyProblem | undefined {
  if (metric.tool === undefined || namespace.allowsTools) return undefined
  const needed = `metric ${metric.name} loads a library into the application`
  const message =
    `${needed}, which namespace ${quote(namespace.name)} does not allow ` +
    `(label ${TOOLS_LABEL}: "true")`
  return { reason: 'tools-not-allowed', message }
}

function standardProblem(
  { namespace, podSecurityDefault = 'privileged', apiserverVersion }: RuleSource,
  pod: Pod,
  { metric, securityContext, installer }: Observer,
): PolicyProblem | undefined {
  const level = namespace.enforce ?? podSecurityDefault
  const { enforceVersion } = namespace
  const mayBeRoot = allowsRoot(pod, { enforceVersion, apiserverVersion })
  const podContext = fieldsOrNone(pod.spec.securityContext)
  const contexts = [securityContext, ...(installer ? [installer.securityContext] : [])]
  const problem = contexts
    .map((context) => podSecurityProblem(level, context, mayBeRoot, podContext))
    .find((found) => found !== undefined)
  if (problem === undefined) return undefined
  const source = namespace.enforce === undefined ? " (the cluster's default)" : ''
  const rule = `namespace ${quote(namespace.name)} enforces Pod Security ${level}${source}`
  const message = `${rule}, which refuses the observer ${metric.name} because ${problem}`
  return { reason: 'pod-security', message }
}

/**
 * Reports a security context of the catalog that the SecurityContextConstraints of OpenShift may
 * refuse. A security context that is derived from the target is always allowed.
 */
function openShiftProblem(
  pod: Pod,
  { metric, securityContext }: Observer,
): PolicyProblem | undefined {
  if (metric.container.securityContext === undefined) return undefined
  const problem = constraintsProblem(pod, securityContext)
  if (problem === undefined) return undefined
  return { reason: 'pod-security', message: `observer ${metric.name}: ${problem}` }
}

/**
 * Checks the rules in the order of admission: LimitRanges set defaults and enforce their bounds,
 * then ResourceQuotas apply.
 */
function resourceProblem(
  { limitRanges, quotas }: Namespace,
  pod: Pod,
  mode: Mode,
  observers: readonly Observer[],
): PolicyProblem | undefined {
  if (limitRanges.length === 0 && quotas.length === 0) return undefined
  const defaults = limitRanges.map((limitRange) => limitRange.defaults)
  const before = readPodResources(pod, defaults, ruledResources(limitRanges, quotas))
  const first = installerResources(observers, defaults)
  const last = observerResources(observers, mode, defaults)
  const ours = [...first, ...last]
  const after = { ...before, containers: [...first, ...before.containers, ...last] }
  const outside = limitRangeProblem(limitRanges, after, ours) ?? filledProblem(after, ours)
  if (outside !== undefined) return { reason: 'limit-range', message: outside }
  const message = quotaProblem(quotas, { spec: pod.spec, before, after, observers: ours })
  return message === undefined ? undefined : { reason: 'quota', message }
}

/** Returns the resources of the observers, including the defaults of the LimitRanges. */
function observerResources(
  observers: readonly Observer[],
  mode: Mode,
  defaults: readonly Resources[],
): readonly ContainerResources[] {
  const restartsAlways = mode === 'native'
  return observers.map(({ metric: { name }, resources }) => {
    const own = readOwnResources(resources)
    return readContainerResources({ name, restartsAlways }, restartsAlways, own, defaults)
  })
}

/** Returns the resources of the init containers that install tools, as observerResources does. */
function installerResources(
  observers: readonly Observer[],
  defaults: readonly Resources[],
): readonly ContainerResources[] {
  return observers.flatMap(({ metric, installer }) => {
    if (installer === undefined) return []
    const container = { name: installerName(metric.name), restartsAlways: false }
    return readContainerResources(container, true, readOwnResources(installer.resources), defaults)
  })
}

function readOwnResources(resources: Fields | undefined): Resources {
  const { requests, limits } = fieldsOrNone(resources)
  return {
    requests: readResourceList(fieldsOrNone(requests)),
    limits: readResourceList(fieldsOrNone(limits)),
  }
}
