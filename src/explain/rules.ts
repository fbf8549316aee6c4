import type { Reason } from '../core/reasons.ts'

/**
 * A rule of the decision, the reasons for which the rule leaves or denies a pod, and the sentence
 * for a pod that passes.
 */
export interface Rule {
  readonly name: string
  readonly reasons: readonly Reason[]
  readonly passed: string
}

/**
 * The name of the rule about the images on nodes. The rule can be checked only if the image holders
 * (the DaemonSets that keep the observers' images on the nodes) are known.
 */
export const IMAGE_RULE = 'image'

/**
 * The name of the rule about the rank of the pod. `rankFinding` makes the sentence for a pod that
 * passes; `passed` is not used.
 */
export const RANK_RULE = 'rank'

/**
 * The rules, in the order in which src/core/review-pod.ts and src/core/decide.ts check them. The
 * reason `internal-error` belongs to no rule, because an internal error can occur in any of them.
 */
export const RULES: readonly Rule[] = [
  { name: 'operation', reasons: ['not-create'], passed: 'the pod is being created' },
  { name: 'excluded', reasons: ['excluded-namespace'], passed: 'the namespace is not excluded' },
  { name: 'pod', reasons: ['invalid-pod'], passed: 'the pod spec is valid' },
  { name: 'static pod', reasons: ['mirror-pod'], passed: 'not the mirror of a static pod' },
  {
    name: 'asks',
    reasons: ['not-asked', 'opted-out'],
    passed: 'the pod or its namespace requests observers',
  },
  { name: 'hostPID', reasons: ['host-pid'], passed: 'not set' },
  { name: 'system', reasons: ['windows'], passed: 'not a Windows pod' },
  { name: 'request', reasons: ['unknown-metric', 'invalid-option'], passed: 'valid' },
  {
    name: RANK_RULE,
    reasons: ['rank-not-selected', 'rank-unknown'],
    passed: 'all pods are selected',
  },
  {
    name: 'observers before',
    reasons: ['already-injected', 'observer-differs'],
    passed: 'the pod has no observers yet',
  },
  { name: 'creator', reasons: ['operator-conflict'], passed: 'no known operator conflict' },
  { name: 'target', reasons: ['unknown-target-container'], passed: 'the container exists' },
  { name: 'names', reasons: ['name-taken'], passed: 'no container has the name of a metric' },
  {
    name: 'privilege',
    reasons: ['privilege'],
    passed: 'the namespace grants the privilege that each metric needs',
  },
  {
    name: 'tools',
    reasons: ['tools-not-allowed'],
    passed: 'the namespace allows each metric that loads a library into the application',
  },
  { name: 'Pod Security', reasons: ['pod-security'], passed: 'the namespace allows the observers' },
  { name: 'LimitRange', reasons: ['limit-range'], passed: 'allows the pod with its observers' },
  { name: 'ResourceQuota', reasons: ['quota'], passed: 'allows the pod with its observers' },
  {
    name: 'variables',
    reasons: ['variable-taken'],
    passed: 'no tool replaces a variable of the target',
  },
  {
    name: 'paths',
    reasons: ['path-taken'],
    passed: 'no tool needs a path at which the target has a mount',
  },
  {
    name: IMAGE_RULE,
    reasons: ['observer-unavailable'],
    passed: 'at least one node has each image of the metrics',
  },
  { name: 'annotations', reasons: ['too-large'], passed: 'there is room for the status' },
]
