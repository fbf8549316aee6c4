import type { Reason } from '../core/reasons.ts'

/** Causes of missing observers that are not reasons of the webhook, each with its remedy. */
export const CAUSES = {
  'webhook-absent': 'install the chart (docs/install.md), then create the pod again',
  'revision-absent':
    'ask an administrator to correct or remove the label ridealong.dev/revision of the namespace,' +
    ' or to install the release; then create the pod again',
  'webhook-ca':
    "set caBundle to the CA of the webhook's certificate (with cert-manager: check that its" +
    ' cainjector is running), then create the pod again',
  'not-armed':
    'annotate the namespace again, or wait a few minutes until a running server sets the label;' +
    ' then create the pod again',
  'not-selected':
    'the configuration is not the one that the chart installs: restore it with helm upgrade',
  'webhook-away':
    'check that the webhook is running (helm test ridealong -n ridealong-system), then create the' +
    ' pod again',
  'admission-policy':
    'ask the administrator of the policy that the message names for an exception, or create the' +
    ' pods without observers: with the annotation ridealong.dev/inject: "false", or without the' +
    ' annotation of the namespace (docs/troubleshooting.md)',
  'annotated-later': 'create the pod again: running pods are not changed',
  altered:
    'find the webhook or controller that changes the pod after Ridealong, and configure it to' +
    ' keep the fields that it does not know; if kubectl debug copied the pod, copy it with' +
    ' --share-processes',
} as const

export type Cause = keyof typeof CAUSES

/** The remedy for each reason. A test checks that docs/troubleshooting.md uses the same words. */
export const REMEDIES = {
  'host-pid': 'remove hostPID from the pod template',
  windows: 'nothing: Windows cannot share a process namespace',
  'operator-conflict':
    'if the message names a mode, use this mode; otherwise the pods of this operator' +
    ' cannot be observed',
  'unknown-metric':
    'choose a metric that ridealong metrics lists; an administrator can add metrics to the catalog',
  'invalid-option': 'correct the annotation that the message names',
  'rank-not-selected':
    'nothing, if the observers of other ranks are enough; otherwise change the annotation' +
    ' ridealong.dev/ranks, then create the pod again',
  'rank-unknown':
    'use a workload that numbers its pods, such as an Indexed Job, or remove the annotation that' +
    ' the message names',
  'unknown-target-container': 'choose one of the containers that the message lists',
  'name-taken': 'rename the container that has the name of a metric',
  'pod-security':
    'correct the setting that the message names; usually the target runs as root in a namespace' +
    ' that enforces restricted',
  'limit-range':
    'change the bound that the message names: usually, raise the maximum so that it allows the' +
    ' limits of the observer. Minimums and ratios rarely prevent observers, because they raise' +
    ' the requests and limits of the observers',
  quota:
    'raise the ResourceQuota that the message names, so that it also allows the limits of the' +
    ' observers in each pod',
  'observer-unavailable':
    'find out why no node has the image (kubectl describe pods -A -l ridealong.dev/image), then' +
    ' create the pod again',
  privilege:
    'ask an administrator to set the label ridealong.dev/privilege of the namespace to the' +
    ' privilege that the message names',
  'tools-not-allowed':
    'ask an administrator to set the label ridealong.dev/tools: "true" of the namespace',
  'variable-taken':
    'remove the variable that the message names from the container, or do not request the metric',
  'path-taken':
    'move the volume that the message names to another path, or do not request the metric',
  'not-asked':
    'annotate the place from which the operator copies annotations to pods (docs/annotate.md), or' +
    ' the namespace',
  'opted-out': 'remove the annotation ridealong.dev/inject: "false" from the pod template',
  'not-create': 'create the pod again: running pods are not changed',
  'already-injected': 'nothing: the pod has its observers',
  'observer-differs':
    'the message says what differs. There are three possible causes: the container comes from' +
    ' another version of Ridealong, another webhook has rewritten its image, or it is not an' +
    ' observer. Create the pod again from a template without observers, or use the rewritten' +
    ' image in the catalog',
  'mirror-pod': 'nothing: the apiserver does not create static pods',
  'excluded-namespace':
    'ask an administrator to remove the namespace from excludedNamespaces of the chart',
  'invalid-pod': 'correct the field that the message names; the apiserver refuses the pod too',
  'too-large': "shorten the pod's annotations: with ridealong.dev/status they would exceed 256 KiB",
  'internal-error': 'please report this error; the log of the webhook has the details',
} as const satisfies Record<Reason, string>

/** Returns the remedy for a reason or a cause. */
export function findRemedy(why: Reason | Cause): string {
  return { ...REMEDIES, ...CAUSES }[why]
}
