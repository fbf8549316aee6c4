import type { Reason } from '../core/reasons.ts'

/**
 * A rule of the decision, the reasons for which the rule skips a pod, and the sentence for a pod
 * that passes.
 */
export interface Rule {
  readonly name: string
  readonly reasons: readonly Reason[]
  readonly passed: string
}

/**
 * The rule that needs to know which images nodes have; only a webhook that watches nodes can check
 * it.
 */
export const IMAGE_RULE = 'image'

/**
 * The rules, in the order in which src/core/review-pod.ts and src/core/decide.ts check them. An
 * internal error has no rule, since it can occur in any of them.
 */
export const RULES: readonly Rule[] = [
  { name: 'operation', reasons: ['not-create'], passed: 'a pod is created' },
  { name: 'excluded', reasons: ['excluded-namespace'], passed: 'the namespace is not excluded' },
  { name: 'pod', reasons: ['invalid-pod'], passed: 'what is looked at holds' },
  { name: 'static pod', reasons: ['mirror-pod'], passed: 'it mirrors none' },
  { name: 'asks', reasons: ['not-asked', 'opted-out'], passed: 'the pod or its namespace asks' },
  { name: 'hostPID', reasons: ['host-pid'], passed: 'not set' },
  { name: 'system', reasons: ['windows'], passed: 'not Windows' },
  { name: 'request', reasons: ['unknown-metric', 'invalid-option'], passed: 'holds' },
  {
    name: 'observers before',
    reasons: ['already-injected', 'observer-differs'],
    passed: 'none rides yet',
  },
  { name: 'creator', reasons: ['operator-conflict'], passed: 'none that breaks' },
  { name: 'target', reasons: ['unknown-target-container'], passed: 'is there' },
  { name: 'names', reasons: ['name-taken'], passed: 'no container has the name of a metric' },
  {
    name: 'privilege',
    reasons: ['privilege'],
    passed: 'the namespace grants what the metric needs',
  },
  { name: 'Pod Security', reasons: ['pod-security'], passed: 'admits the observer' },
  { name: 'LimitRange', reasons: ['limit-range'], passed: 'admits the pod with its observers' },
  { name: 'ResourceQuota', reasons: ['quota'], passed: 'admits the pod with its observers' },
  { name: IMAGE_RULE, reasons: ['observer-unavailable'], passed: 'a node holds it' },
  { name: 'annotations', reasons: ['too-large'], passed: 'have room for the status' },
]
