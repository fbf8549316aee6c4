import { REASONS, type Reason } from '../../core/reasons.ts'

/** Causes of missing observers that are not reasons of the webhook, each with its remedy. */
const CAUSES = {
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

/** Returns the remedy for a reason or a cause. */
export function findRemedy(why: Reason | Cause): string {
  return isCause(why) ? CAUSES[why] : withoutMarkup(REASONS[why].remedy)
}

function isCause(why: Reason | Cause): why is Cause {
  return Object.hasOwn(CAUSES, why)
}

/** Returns Markdown as text: the words of links without their targets, and code without quotes. */
function withoutMarkup(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}
