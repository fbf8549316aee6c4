/**
 * The reasons why a pod is skipped or denied, each with a sentence and two properties. Metrics and
 * annotations contain the key of the reason.
 *
 * - `written`: the pod requests metrics, and its status annotation records the reason.
 * - `deniable`: the request is wrong or cannot be met: `ridealong.dev/on-error: deny` has an
 * effect.
 *
 * A test compares docs/reasons.md with this table.
 */
export const REASONS = {
  'not-asked': {
    sentence: 'neither the pod nor its namespace asks for a metric',
    written: false,
    deniable: false,
  },
  'opted-out': {
    sentence: 'the pod says ridealong.dev/inject: "false"',
    written: false,
    deniable: false,
  },
  'not-create': {
    sentence: 'only the creation of a pod can add observers',
    written: false,
    deniable: false,
  },
  'already-injected': {
    sentence: 'the pod already carries its observers',
    written: false,
    deniable: false,
  },
  'observer-differs': {
    sentence: "the pod's status names an observer that is not the catalog's",
    written: false,
    deniable: false,
  },
  'mirror-pod': {
    sentence: 'the pod mirrors a static pod, which the kubelet runs from a file',
    written: false,
    deniable: false,
  },
  'excluded-namespace': {
    sentence: 'the administrator excludes this namespace',
    written: false,
    deniable: false,
  },
  'invalid-pod': {
    sentence: 'the object is no pod that Kubernetes accepts',
    written: false,
    deniable: false,
  },
  'host-pid': {
    sentence: 'hostPID and shareProcessNamespace exclude each other',
    written: true,
    deniable: true,
  },
  windows: {
    sentence: 'Windows has no process namespace to share',
    written: true,
    deniable: true,
  },
  'operator-conflict': {
    sentence: 'the creator of this pod breaks when an observer rides along',
    written: true,
    deniable: true,
  },
  'unknown-metric': {
    sentence: 'the catalog has no metric of that name',
    written: true,
    deniable: true,
  },
  'invalid-option': {
    sentence: 'an annotation holds what it cannot hold',
    written: true,
    deniable: true,
  },
  'unknown-target-container': {
    sentence: 'the pod has no container of that name',
    written: true,
    deniable: true,
  },
  'name-taken': {
    sentence: 'a container of that name exists and is not ours',
    written: true,
    deniable: true,
  },
  'pod-security': {
    sentence: "the namespace's enforced Pod Security level would refuse the observer",
    written: true,
    deniable: true,
  },
  'limit-range': {
    sentence: 'a LimitRange of the namespace would refuse the pod with the observer',
    written: true,
    deniable: true,
  },
  quota: {
    sentence: 'a ResourceQuota of the namespace would refuse the pod with the observer',
    written: true,
    deniable: true,
  },
  privilege: {
    sentence: 'the namespace does not grant the privilege that the metric needs',
    written: true,
    deniable: true,
  },
  'observer-unavailable': {
    sentence: "no node is known to hold the image of the metric's observer",
    written: true,
    deniable: true,
  },
  'too-large': {
    sentence: 'the annotations would pass the 256 KiB that Kubernetes allows',
    written: false,
    deniable: true,
  },
  'internal-error': {
    sentence: 'a defect of Ridealong; nothing was touched',
    written: false,
    deniable: false,
  },
} as const satisfies Record<
  string,
  { readonly sentence: string; readonly written: boolean; readonly deniable: boolean }
>

export type Reason = keyof typeof REASONS
