/**
 * The rules of the decision, in the order in which review-pod.ts and decide.ts check them: the name
 * that `explain` prints, and its sentence for a pod that passes. For `request` and `selection`,
 * `explain` makes a sentence about the request.
 */
export const RULES = [
  { name: 'operation', passed: 'the pod is being created' },
  { name: 'excluded', passed: 'the namespace is not excluded' },
  { name: 'pod', passed: 'the pod spec is valid' },
  { name: 'static pod', passed: 'not the mirror of a static pod' },
  { name: 'asks', passed: 'the pod or its namespace requests observers' },
  { name: 'hostPID', passed: 'not set' },
  { name: 'system', passed: 'not a Windows pod' },
  { name: 'request', passed: 'valid' },
  { name: 'selection', passed: 'all pods are selected' },
  { name: 'observers before', passed: 'the pod has no observers yet' },
  { name: 'creator', passed: 'no known operator conflict' },
  { name: 'target', passed: 'the container exists' },
  { name: 'names', passed: 'no container has the name of a metric' },
  { name: 'privilege', passed: 'the namespace grants the privilege that each metric needs' },
  {
    name: 'tools',
    passed: 'the namespace allows each metric that loads a library into the application',
  },
  { name: 'Pod Security', passed: 'the namespace allows the observers' },
  { name: 'variables', passed: 'no tool replaces a variable of the target' },
  { name: 'paths', passed: 'no tool needs a path at which the target has a mount' },
  { name: 'image', passed: 'at least one node has each image of the metrics' },
  { name: 'LimitRange', passed: 'allows the pod with its observers' },
  { name: 'ResourceQuota', passed: 'allows the pod with its observers' },
  { name: 'annotations', passed: 'there is room for the status' },
] as const satisfies readonly { readonly name: string; readonly passed: string }[]

export type DecisionRule = (typeof RULES)[number]

/** The properties of a reason, which are the same for every pod. */
interface ReasonRow {
  /** The default message of a decision, without the final period. */
  readonly sentence: string
  /**
   * The rule that leaves or denies a pod for this reason; null for an internal error, which can
   * occur in any of them.
   */
  readonly rule: DecisionRule['name'] | null
  /**
   * The advice for the author of the pod, in Markdown with links relative to docs.
   * docs/troubleshooting.md contains it; `explain` and `doctor` print it without the markup.
   */
  readonly remedy: string
  /** Whether the status annotation of the pod records the reason. */
  readonly written: boolean
  /** Whether the creator of an admitted pod gets a warning with the reason. */
  readonly warns: boolean
  /** Whether the pod is denied if the request has `ridealong.dev/on-error: deny`. */
  readonly canDeny: boolean
  /** Whether the reason concerns a single metric, so that the pod still gets its other metrics. */
  readonly leavesMetric?: true
  /** Whether the pod would get no observers even if the webhook were not called. */
  readonly isRegardless?: true
  /** Whether observers that the manifest of the pod contains are kept as they are. */
  readonly keepsManifestObservers?: true
  /** Whether the cause is an error in the manifest, and not the state of the cluster. */
  readonly isErrorInManifest?: true
  /** Whether the installation has no observer that `attach` could use. */
  readonly isNotOffered?: true
}

const ROWS = {
  'not-asked': {
    sentence: 'neither the pod nor its namespace requests a metric',
    rule: 'asks',
    remedy:
      'annotate the place from which the operator copies annotations to pods ' +
      '([docs/annotate.md](annotate.md)), or the namespace',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
    keepsManifestObservers: true,
  },
  'opted-out': {
    sentence: 'the pod has the annotation ridealong.dev/inject: "false" or "disabled"',
    rule: 'asks',
    remedy: 'remove the annotation `ridealong.dev/inject` from the pod template',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
    keepsManifestObservers: true,
  },
  'not-create': {
    sentence: 'observers can only be added when a pod is created',
    rule: 'operation',
    remedy: 'create the pod again: running pods are not changed',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
  },
  'already-injected': {
    sentence: 'the pod already has its observers',
    rule: 'observers before',
    remedy: 'nothing: the pod has its observers',
    written: false,
    warns: false,
    canDeny: false,
  },
  'observer-differs': {
    sentence:
      "a container that ridealong.dev/status lists as an observer differs from the catalog's " +
      'observer',
    rule: 'observers before',
    remedy:
      'the message says what differs. There are [three possible ' +
      'causes](#a-container-is-not-the-catalogs-observer): the container comes from another ' +
      'version of Ridealong, another webhook has rewritten its image, or it is not an ' +
      'observer. Create the pod again from a template without observers, or use the ' +
      'rewritten image in the catalog',
    written: false,
    warns: true,
    canDeny: false,
  },
  'mirror-pod': {
    sentence: 'the pod is the mirror of a static pod, which the kubelet runs from a file',
    rule: 'static pod',
    remedy: 'nothing: the apiserver does not create static pods',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
  },
  'excluded-namespace': {
    sentence: 'the administrator has excluded this namespace',
    rule: 'excluded',
    remedy: 'ask an administrator to remove the namespace from `excludedNamespaces` of the chart',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
    keepsManifestObservers: true,
  },
  'invalid-pod': {
    sentence: 'the object is not a valid pod',
    rule: 'pod',
    remedy: 'correct the field that the message names; the apiserver refuses the pod too',
    written: false,
    warns: false,
    canDeny: false,
    isRegardless: true,
    isErrorInManifest: true,
  },
  'host-pid': {
    sentence: 'hostPID cannot be combined with shareProcessNamespace, which observers need',
    rule: 'hostPID',
    remedy: 'remove `hostPID` from the pod template',
    written: true,
    warns: true,
    canDeny: true,
  },
  windows: {
    sentence: 'Windows pods cannot share a process namespace, which observers need',
    rule: 'system',
    remedy: 'nothing: Windows cannot share a process namespace',
    written: true,
    warns: true,
    canDeny: true,
  },
  'operator-conflict': {
    sentence: 'the operator that created the pod does not support observers in it',
    rule: 'creator',
    remedy:
      'if the message names a mode, use this mode; otherwise the pods of this operator ' +
      'cannot be observed',
    written: true,
    warns: true,
    canDeny: true,
  },
  'unknown-metric': {
    sentence: 'the catalog has no metric with a requested name',
    rule: 'request',
    remedy:
      'choose a metric that `ridealong metrics` lists; an administrator can add metrics to ' +
      'the catalog',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
    isErrorInManifest: true,
    isNotOffered: true,
  },
  'invalid-option': {
    sentence: 'an annotation of Ridealong has an invalid key or value',
    rule: 'request',
    remedy: 'correct the annotation that the message names',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
    isErrorInManifest: true,
  },
  'pod-not-selected': {
    sentence: 'the annotation ridealong.dev/pods does not select the pod',
    rule: 'selection',
    remedy:
      'nothing, if the observers of other pods are enough; otherwise change the annotation ' +
      '`ridealong.dev/pods`, then create the pod again',
    written: true,
    warns: false,
    canDeny: false,
  },
  'pod-index-unknown': {
    sentence: 'the annotation ridealong.dev/pods is set, but the pod has no known index',
    rule: 'selection',
    remedy:
      'use a workload that numbers its pods, such as an Indexed Job, or remove the ' +
      'annotation that the message names',
    written: true,
    warns: true,
    canDeny: true,
  },
  'unknown-target-container': {
    sentence: 'the pod has no container with the requested name',
    rule: 'target',
    remedy: 'choose one of the containers that the message lists',
    written: true,
    warns: true,
    canDeny: true,
    isErrorInManifest: true,
  },
  'name-taken': {
    sentence: 'another container of the pod has the name of a requested metric',
    rule: 'names',
    remedy: 'rename the container that has the name of a metric',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'pod-security': {
    sentence:
      'the Pod Security level that the namespace enforces, or OpenShift, would refuse the observer',
    rule: 'Pod Security',
    remedy:
      'correct the setting that the message names; usually the target runs as root in a ' +
      'namespace that enforces `restricted`',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'limit-range': {
    sentence: 'a LimitRange of the namespace would refuse the pod with its observers',
    rule: 'LimitRange',
    remedy:
      'change the bound that the message names: usually, raise the maximum so that it allows ' +
      'the limits of the observer. Minimums and ratios rarely prevent observers, because ' +
      'they raise the requests and limits of the observers',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  quota: {
    sentence: 'a ResourceQuota of the namespace would refuse the pod with its observers',
    rule: 'ResourceQuota',
    remedy:
      'raise the ResourceQuota that the message names, so that it also allows the limits of ' +
      'the observers in each pod',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  privilege: {
    sentence: 'the namespace does not grant the privilege that the metric needs',
    rule: 'privilege',
    remedy:
      'ask an administrator to set the label `ridealong.dev/privilege` of the namespace to ' +
      'the privilege that the message names',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'tools-not-allowed': {
    sentence: 'the namespace does not allow metrics that load a library into the application',
    rule: 'tools',
    remedy: 'ask an administrator to set the label `ridealong.dev/tools: "true"` of the namespace',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'variable-taken': {
    sentence: 'the target has a variable that the tool of a metric sets',
    rule: 'variables',
    remedy:
      'remove the variable that the message names from the container, or do not request the metric',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'path-taken': {
    sentence: 'the target has a volume at a path that the tool of a metric needs',
    rule: 'paths',
    remedy: 'move the volume that the message names to another path, or do not request the metric',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
  },
  'no-image-volumes': {
    sentence:
      'the tool of a metric is mounted from its image, and the apiserver has no image volumes',
    rule: 'tools',
    remedy:
      'the administrator upgrades the cluster to Kubernetes 1.35, or sets the chart value ' +
      '`tools.imageVolumes` to `false`',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
    isNotOffered: true,
  },
  'observer-unavailable': {
    sentence: 'no node is known to have the image of the observer',
    rule: 'image',
    remedy:
      'find out [why no node has the image](#no-node-has-the-image) (`kubectl describe pods ' +
      '-A -l ridealong.dev/image`), then create the pod again',
    written: true,
    warns: true,
    canDeny: true,
    leavesMetric: true,
    isNotOffered: true,
  },
  'too-large': {
    sentence:
      'with ridealong.dev/status, the annotations would exceed the 256 KiB that Kubernetes allows',
    rule: 'annotations',
    remedy: "shorten the pod's annotations: with ridealong.dev/status they would exceed 256 KiB",
    written: false,
    warns: true,
    canDeny: true,
  },
  'internal-error': {
    sentence: 'internal error in Ridealong; nothing was changed',
    rule: null,
    remedy: 'please report this error; the log of the webhook has the details',
    written: false,
    warns: true,
    canDeny: false,
  },
} as const satisfies Record<string, ReasonRow>

export type Reason = keyof typeof ROWS

/** The reasons that concern a single metric. */
export type MetricReason = {
  [Key in Reason]: (typeof ROWS)[Key] extends { readonly leavesMetric: true } ? Key : never
}[Reason]

/**
 * The reasons why a pod is left (admitted without new observers) or denied, or why it lacks a
 * requested metric. The status annotation and the webhook's Prometheus metrics contain the key of
 * the reason. `npm run docs:tables` writes the tables of docs/reasons.md and
 * docs/troubleshooting.md, and a test compares them.
 */
export const REASONS: Readonly<Record<Reason, ReasonRow>> = ROWS

/** Reports whether a value, such as a field of a status, is a reason that this version knows. */
export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}
