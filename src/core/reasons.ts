/**
 * The reasons why a pod is left (admitted without new observers) or denied, each with a sentence
 * and two properties. The status annotation and the webhook's Prometheus metrics contain the key of
 * the reason.
 *
 * - `written`: whether the status annotation of the pod records the reason.
 * - `canDeny`: whether the pod is denied if the request has `ridealong.dev/on-error: deny`.
 *
 * A test compares docs/reasons.md with this table.
 */
export const REASONS = {
  'not-asked': {
    sentence: 'neither the pod nor its namespace requests a metric',
    written: false,
    canDeny: false,
  },
  'opted-out': {
    sentence: 'the pod has the annotation ridealong.dev/inject: "false"',
    written: false,
    canDeny: false,
  },
  'not-create': {
    sentence: 'observers can only be added when a pod is created',
    written: false,
    canDeny: false,
  },
  'already-injected': {
    sentence: 'the pod already has its observers',
    written: false,
    canDeny: false,
  },
  'observer-differs': {
    sentence:
      'a container that ridealong.dev/status lists as an observer differs from ' +
      "the catalog's observer",
    written: false,
    canDeny: false,
  },
  'mirror-pod': {
    sentence: 'the pod is the mirror of a static pod, which the kubelet runs from a file',
    written: false,
    canDeny: false,
  },
  'excluded-namespace': {
    sentence: 'the administrator has excluded this namespace',
    written: false,
    canDeny: false,
  },
  'invalid-pod': {
    sentence: 'the object is not a valid pod',
    written: false,
    canDeny: false,
  },
  'host-pid': {
    sentence: 'hostPID cannot be combined with shareProcessNamespace, which observers need',
    written: true,
    canDeny: true,
  },
  windows: {
    sentence: 'Windows pods cannot share a process namespace, which observers need',
    written: true,
    canDeny: true,
  },
  'operator-conflict': {
    sentence: 'the operator that created the pod does not support observers in it',
    written: true,
    canDeny: true,
  },
  'unknown-metric': {
    sentence: 'the catalog has no metric with a requested name',
    written: true,
    canDeny: true,
  },
  'invalid-option': {
    sentence: 'an annotation of Ridealong has an invalid key or value',
    written: true,
    canDeny: true,
  },
  'rank-not-selected': {
    sentence: 'the annotation ridealong.dev/ranks does not select the rank of the pod',
    written: true,
    canDeny: false,
  },
  'rank-unknown': {
    sentence: 'the annotation ridealong.dev/ranks is set, but the pod has no known rank',
    written: true,
    canDeny: true,
  },
  'unknown-target-container': {
    sentence: 'the pod has no container with the requested name',
    written: true,
    canDeny: true,
  },
  'name-taken': {
    sentence: 'another container of the pod has the name of a requested metric',
    written: true,
    canDeny: true,
  },
  'pod-security': {
    sentence:
      'the Pod Security level that the namespace enforces, or OpenShift, would refuse the observer',
    written: true,
    canDeny: true,
  },
  'limit-range': {
    sentence: 'a LimitRange of the namespace would refuse the pod with its observers',
    written: true,
    canDeny: true,
  },
  quota: {
    sentence: 'a ResourceQuota of the namespace would refuse the pod with its observers',
    written: true,
    canDeny: true,
  },
  privilege: {
    sentence: 'the namespace does not grant the privilege that the metric needs',
    written: true,
    canDeny: true,
  },
  'tools-not-allowed': {
    sentence: 'the namespace does not allow metrics that load a library into the application',
    written: true,
    canDeny: true,
  },
  'variable-taken': {
    sentence: 'the target has a variable that the tool of a metric sets',
    written: true,
    canDeny: true,
  },
  'path-taken': {
    sentence: 'the target has a volume at a path that the tool of a metric needs',
    written: true,
    canDeny: true,
  },
  'observer-unavailable': {
    sentence: 'no node is known to have the image of the observer',
    written: true,
    canDeny: true,
  },
  'too-large': {
    sentence:
      'with ridealong.dev/status, the annotations would exceed the 256 KiB that Kubernetes allows',
    written: false,
    canDeny: true,
  },
  'internal-error': {
    sentence: 'internal error in Ridealong; nothing was changed',
    written: false,
    canDeny: false,
  },
} as const satisfies Record<
  string,
  { readonly sentence: string; readonly written: boolean; readonly canDeny: boolean }
>

export type Reason = keyof typeof REASONS
