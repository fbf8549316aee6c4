import { covers, type Metric, type Privilege } from '../catalog.ts'
import { PRIVILEGE_LABEL, TOOLS_LABEL } from '../keys.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { allowsRoot, podSecurityProblem } from '../kubernetes/pod-security.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import { quote } from '../text/quote.ts'
import { IMAGE_VOLUMES_SINCE } from '../tools/tool.ts'
import { securityContextOf } from './build-observer.ts'
import type { MetricProblem } from './left-metric.ts'
import { constraintsProblem } from './openshift.ts'

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
   * The version 1.N of the apiserver, on which image volumes and the rules of Pod Security depend;
   * undefined if it is not known.
   */
  readonly apiserverVersion?: number | undefined
}

/** A pod, and the rules for pods in its namespace. */
export interface PolicyFacts extends RuleSource {
  readonly pod: Pod
  /** The security context that an observer derives from its target. */
  readonly derived: Fields
}

/**
 * Finds the reason why the privilege that a namespace grants, or the rules of Kubernetes for
 * security contexts in this namespace, would not allow the observer of a metric.
 *
 * @returns undefined if the observer is allowed
 */
export function findPolicyProblem(facts: PolicyFacts, metric: Metric): MetricProblem | undefined {
  return (
    privilegeProblem(facts.namespace, metric) ??
    toolProblem(facts.namespace, metric) ??
    imageVolumeProblem(facts, metric) ??
    standardProblem(facts, metric) ??
    openShiftProblem(facts, metric)
  )
}

function privilegeProblem(namespace: Namespace, metric: Metric): MetricProblem | undefined {
  if (covers(namespace.privilege, metric.privilege)) return undefined
  const needed = `metric ${metric.name} needs the privilege ${metric.privilege}`
  const granted = `namespace ${quote(namespace.name)} grants ${namespace.privilege}`
  const message = `${needed}, but ${granted} (label ${PRIVILEGE_LABEL})`
  return { reason: 'privilege', message }
}

function toolProblem(namespace: Namespace, metric: Metric): MetricProblem | undefined {
  if (metric.tool === undefined || namespace.allowsTools) return undefined
  const needed = `metric ${metric.name} loads a library into the application`
  const message =
    `${needed}, which namespace ${quote(namespace.name)} does not allow ` +
    `(label ${TOOLS_LABEL}: "true")`
  return { reason: 'tools-not-allowed', message }
}

/**
 * Reports a tool that is mounted from its image, if the apiserver is too old. It would drop the
 * field `image` of the volume, and then refuse the pod. With an unknown version, the pod gets the
 * volume: the chart cannot be installed in a cluster that is too old.
 */
function imageVolumeProblem(
  { apiserverVersion = IMAGE_VOLUMES_SINCE }: RuleSource,
  metric: Metric,
): MetricProblem | undefined {
  if (metric.tool?.imageVolume === undefined) return undefined
  if (apiserverVersion >= IMAGE_VOLUMES_SINCE) return undefined
  const needed = `the tool of ${metric.name} is mounted from its image`
  const needs = `which needs Kubernetes 1.${IMAGE_VOLUMES_SINCE}`
  const message = `${needed}, ${needs}; the apiserver has the version 1.${apiserverVersion}`
  return { reason: 'no-image-volumes', message }
}

function standardProblem(
  { pod, derived, namespace, podSecurityDefault = 'privileged', apiserverVersion }: PolicyFacts,
  metric: Metric,
): MetricProblem | undefined {
  const level = namespace.enforce ?? podSecurityDefault
  const { enforceVersion } = namespace
  const mayBeRoot = allowsRoot(pod, { enforceVersion, apiserverVersion })
  const podContext = fieldsOrNone(pod.spec.securityContext)
  const own = securityContextOf(metric, derived, pod)
  const contexts = metric.tool?.installer === undefined ? [own] : [own, derived]
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
  { pod, derived }: PolicyFacts,
  metric: Metric,
): MetricProblem | undefined {
  if (metric.container.securityContext === undefined) return undefined
  const problem = constraintsProblem(pod, securityContextOf(metric, derived, pod))
  if (problem === undefined) return undefined
  return { reason: 'pod-security', message: `observer ${metric.name}: ${problem}` }
}
