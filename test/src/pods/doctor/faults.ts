import type { Installation } from '../../../../src/pods/doctor/installation.ts'
import { askingPod } from '../../../../src/pods/doctor/probe.ts'
import type { Json } from '../../core/build.ts'
import {
  ARMED,
  ASKS,
  authority,
  configured,
  deployment,
  elsewhere,
  HOST,
  IMAGE,
  INJECTED,
  LEFT,
  namespace,
  offering,
  other,
  ready,
  released,
  revision,
  TOOL_IMAGE,
  WELL,
  withPod,
  withRelease,
  withWebhook,
} from './build.ts'

const SHARING =
  "ValidatingAdmissionPolicy 'no-shared-pids' with binding 'no-shared-pids' denied request:" +
  ' pods must not share their process namespace'

/** For each fault: the installation, the name of the check that fails, its message, its remedy. */
export const FAULTS: Readonly<Record<string, readonly [Installation, string, RegExp, RegExp]>> = {
  'there is no webhook configuration': [
    withWebhook({ configuration: { value: undefined } }),
    'webhook configuration',
    /^no MutatingWebhookConfiguration has pods\.ridealong\.dev/,
    /^install the chart/,
  ],
  'the configuration lacks one of its webhooks': [
    withWebhook({
      configuration: {
        value: {
          ...configured(authority.ca),
          webhooks: (configured(authority.ca) as { webhooks: Json[] }).webhooks.slice(0, 2),
        },
      },
    }),
    'webhook configuration',
    /^MutatingWebhookConfiguration ridealong has no webhook namespaces\.ridealong\.dev, moved\.ridealong\.dev$/,
    /^restore it with helm upgrade/,
  ],
  'the configuration has no CA': [
    withWebhook({ configuration: { value: configured('') }, serving: { problem: 'not asked' } }),
    'CA',
    /^caBundle has no certificate$/,
    /cainjector/,
  ],
  'the CA has not issued the certificate': [
    withWebhook({ configuration: { value: configured(other.ca) } }),
    'certificate',
    /^caBundle does not verify the server's certificate/,
    /cainjector/,
  ],
  'the certificate is for another name': [
    withWebhook({ serving: { value: elsewhere.cert } }),
    'certificate',
    /is not valid for ridealong\.ridealong-system\.svc/,
    /issuer/,
  ],
  'the certificate expires soon': [
    withWebhook({
      serving: { value: (await authority.issue({ names: [HOST], days: 6 })).cert },
    }),
    'certificate',
    /is valid until 20.*, less than 7 days from now$/,
    /^find out why the certificate was not renewed/,
  ],
  'the webhooks have failurePolicy Fail': [
    withWebhook({
      configuration: {
        value: configured(authority.ca, (webhook) => ({ ...webhook, failurePolicy: 'Fail' })),
      },
    }),
    'failurePolicy',
    /^Fail: if pods\.ridealong\.dev, armed\.ridealong\.dev.* objects are refused$/,
    /^restore it with helm upgrade/,
  ],
  'there is no Service': [
    withRelease({ service: { value: undefined } }),
    'Service',
    /^Service ridealong-system\/ridealong, which the webhooks call, does not exist$/,
    /^restore it with helm upgrade/,
  ],
  'the Service has no ready endpoint': [
    withWebhook({ ready: { value: 0 } }),
    'Service',
    /^Service ridealong-system\/ridealong has no ready endpoint$/,
    /selector/,
  ],
  'there is no Deployment': [
    withRelease({ deployment: { value: undefined } }),
    'Deployment',
    /^no Deployment has the name of Service ridealong-system\/ridealong$/,
    /^restore it with helm upgrade/,
  ],
  'a replica is not ready': [
    withRelease({ deployment: { value: deployment({ ...ready, readyReplicas: 1 }) } }),
    'Deployment',
    /^1 of 2 replicas are ready/,
    /kubectl -n ridealong-system get pods/,
  ],
  'the replicas run an older template': [
    withRelease({ deployment: { value: deployment({ ...ready, observedGeneration: 1 }) } }),
    'Deployment',
    /^2 of 2 replicas are ready, 0 run the current template$/,
    /get pods/,
  ],
  'the catalog is invalid': [
    withRelease({
      offer: { value: { kind: 'broken', problem: 'a.yaml: metric a: spec is wrong' } },
    }),
    'catalog',
    /^a\.yaml: metric a: spec is wrong$/,
    /servers keep the last valid catalog/,
  ],
  'no node holds the image': [
    withRelease({ holders: { value: [{ images: [IMAGE], isHeld: false, ready: 0, nodes: 3 }] } }),
    'image',
    /^no node is known to have registry\.example\/observer:1 \(/,
    /ridealong\.dev\/image/,
  ],
  'no node holds the image of a tool': [
    withRelease({ offer: { value: { kind: 'whole', catalog: offering(IMAGE, TOOL_IMAGE) } } }),
    'image',
    /^no node is known to have registry\.example\/cpu-profile:1 \(cpu-profile\)/,
    /ridealong\.dev\/image/,
  ],
  'the only DaemonSet holds another image': [
    withRelease({
      holders: { value: [{ images: ['other:1'], isHeld: true, ready: 3, nodes: 3 }] },
    }),
    'image',
    /^no node is known to have/,
    /ridealong\.dev\/image/,
  ],
  'two releases have the same revision': [
    { ...WELL, configurations: { value: [released('a', 'canary'), released('b', 'canary')] } },
    'revisions',
    /^a and b are both the revision canary, and both handle the same pods$/,
    /^remove one of the two releases/,
  ],
  'there are two default releases': [
    { ...WELL, configurations: { value: [released('a'), released('b')] } },
    'revisions',
    /^a and b are both the default release/,
    /^remove one of the two releases/,
  ],
  'no release has the revision of a namespace': [
    { ...WELL, namespaces: { value: [namespace('hpc', ASKS, { ...ARMED, ...revision('typo') })] } },
    'revisions',
    /^no release has the revision of these namespaces: hpc \(typo\)$/,
    /^correct or remove the label ridealong\.dev\/revision/,
  ],
  'an annotated namespace is not armed': [
    { ...WELL, namespaces: { value: [namespace('hpc', ASKS)] } },
    'namespaces',
    /^not armed although they request observers: hpc$/,
    /annotate the namespace again$/,
  ],
  'many armed namespaces do not have the annotation': [
    { ...WELL, namespaces: { value: [...'abcdefg'].map((name) => namespace(name, {}, ARMED)) } },
    'namespaces',
    /^armed although they are excluded or request no observers: a, b, c, d, e and 2 more$/,
    /a few minutes/,
  ],
  'an excluded namespace is armed': [
    { ...WELL, namespaces: { value: [namespace('apart', ASKS, ARMED)] } },
    'namespaces',
    /^armed although they are excluded or request no observers: apart$/,
    /a few minutes/,
  ],
  'the webhook does not answer for namespaces': [
    { ...WELL, triedNamespace: { value: namespace('x', ASKS) } },
    'dry run: namespace',
    /^in a dry run, the webhook did not answer$/,
    /port 8443/,
  ],
  'the webhook does not answer for pods': [
    withPod({ outcome: 'admitted', pod: askingPod('perf-sysstat') }),
    'dry run: pod',
    /^in a dry run, the webhook did not answer$/,
    /port 8443/,
  ],
  'a failed call of the webhook denies pods': [
    withPod({
      outcome: 'unknown',
      problem: 'Internal error occurred: failed calling webhook "pods.ridealong.dev"',
    }),
    'dry run: pod',
    /failed calling webhook/,
    /port 8443/,
  ],
  'a policy denies the pod only with observers': [
    withPod({ outcome: 'denied', message: `pods "x" is forbidden: ${SHARING}` }),
    'dry run: pod',
    /^in a dry run in namespace default, the pod was denied only with observers: .*namespace$/,
    /^ask the administrator of the policy that the message names for an exception/,
  ],
  'the pod is created without observers': [
    withPod({ outcome: 'admitted', pod: LEFT }),
    'dry run: pod',
    /the pod got no observers \(observer-unavailable\): no node is known/,
    /why no node has the image/,
  ],
  'another webhook removes the status of the pod': [
    withPod({ outcome: 'admitted', pod: { ...INJECTED, metadata: { annotations: ASKS } } }),
    'dry run: pod',
    /the pod got perf-sysstat, and then lost the annotation ridealong\.dev\/status$/,
    /^find the webhook/,
  ],
  'another webhook changes the pod': [
    withPod({
      outcome: 'admitted',
      pod: { ...INJECTED, spec: { ...(INJECTED.spec as Json), shareProcessNamespace: false } },
    }),
    'dry run: pod',
    /the pod was injected, then changed: shareProcessNamespace is not true$/,
    /^find the webhook/,
  ],
}
