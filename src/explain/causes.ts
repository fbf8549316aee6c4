import type { Reason } from '../core/reasons.ts'

/** Causes of missing observers that are not reasons of the webhook, each with its remedy. */
export const CAUSES = {
  'webhook-absent': 'install the chart (docs/install.md), then create the pod again',
  'webhook-ca':
    "give the configuration the CA of the webhook's certificate: with cert-manager, see that its cainjector runs; then create the pod again",
  'not-armed':
    'annotate the namespace again, or wait minutes until a running server sets the label; then create the pod again',
  'not-selected':
    'the configuration is another than the chart installs: put it back with helm upgrade',
  'webhook-away':
    'see that the webhook runs (helm test ridealong -n ridealong-system), then create the pod again',
  'annotated-later': 'create the pod again: one that runs is not touched',
  altered:
    'find the other webhook or controller that changes the pod after Ridealong, and let it keep what it does not know',
} as const

export type Cause = keyof typeof CAUSES

/** The remedy for each reason. A test checks that docs/troubleshooting.md uses the same words. */
export const REMEDIES = {
  'host-pid': 'take hostPID out of the template',
  windows: 'nothing: Windows shares no process namespaces',
  'operator-conflict': 'the message names the operator, and the mode that works where one does',
  'unknown-metric':
    'ridealong metrics lists the names; an administrator adds others to the catalog',
  'invalid-option': 'the message names the annotation and what it can hold',
  'unknown-target-container': "the message lists the pod's containers",
  'name-taken': "rename the container that has a metric's name",
  'pod-security':
    "the message says what the namespace's level refuses; most often the target runs as root in a namespace that enforces restricted",
  'limit-range':
    "the message names the LimitRange and its rule; give room for the observer's limits",
  quota: "the message names the ResourceQuota; raise it by the observer's limits for each pod",
  'observer-unavailable':
    'the message names the image: No node has the image. Pods that are created when one has it are observed',
  privilege: 'an administrator labels the namespace ridealong.dev/privilege',
  'not-asked':
    'the annotation did not reach the pod: annotate.md says where each operator copies it from',
  'opted-out': 'the pod says ridealong.dev/inject: "false"',
  'not-create': 'the pod was there before; create it again',
  'already-injected': 'the observers are there',
  'observer-differs':
    'the message says what runs: the image of another version, an image that another webhook rewrote, or a container that is not an observer. Create the pod again from a template without observers, or name the rewritten image in the catalog',
  'mirror-pod': 'nothing: a static pod is not created through the apiserver',
  'excluded-namespace': 'ask the administrator: excludedNamespaces of the chart',
  'invalid-pod': 'the apiserver refuses the pod too, and says why',
  'too-large': "shorten the pod's annotations: with the status they would pass 256 KiB",
  'internal-error': 'a defect: the log of the webhook has it; please report it',
} as const satisfies Record<Reason, string>

/** Returns the remedy for a reason or a cause. */
export function findRemedy(why: Reason | Cause): string {
  return { ...REMEDIES, ...CAUSES }[why]
}
