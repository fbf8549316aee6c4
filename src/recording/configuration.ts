import type { Requirement } from './label-selector.ts'

/** What the apiserver is to send, and where to. */
export interface Recorder {
  /** The name of the MutatingWebhookConfiguration: the apiserver calls them in the order of names. */
  readonly name: string
  /** Where the apiserver reaches it, without a slash at the end. */
  readonly url: string
  /** The authority that its certificate verifies under, PEM. */
  readonly ca: string
  readonly namespaces: readonly string[]
  /** Labels of the pods. */
  readonly selector: readonly Requirement[]
  /** The value of the label of the one Namespace, never created, that shows whether calls arrive. */
  readonly probe: string
}

/** The paths below the URL. */
export const PATHS = { pods: '/pods', probe: '/probe' } as const

/** The label of the Namespace that is only asked about. */
export const PROBE_LABEL = 'ridealong.dev/recorder-probe'

const NAMESPACE_NAME = 'kubernetes.io/metadata.name'

/**
 * Makes the MutatingWebhookConfiguration of a recorder. No pod fails or waits for it for longer than a
 * second; the probe may fail, since that tells what is in the way, and concerns nobody else.
 */
export function buildConfiguration({ name, url, ca, namespaces, selector, probe }: Recorder) {
  const caBundle = Buffer.from(ca).toString('base64')
  const shared = (path: string) => ({
    clientConfig: { url: `${url}${path}`, caBundle },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    matchPolicy: 'Equivalent',
    reinvocationPolicy: 'Never',
  })
  const creation = (resource: string, scope: 'Namespaced' | 'Cluster') => [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource], scope },
  ]
  const chosen = { key: NAMESPACE_NAME, operator: 'In', values: namespaces }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        ...shared(PATHS.pods),
        name: 'record.ridealong.dev',
        rules: creation('pods', 'Namespaced'),
        failurePolicy: 'Ignore',
        timeoutSeconds: 1,
        namespaceSelector: { matchExpressions: [chosen] },
        objectSelector: { matchExpressions: selector },
      },
      {
        ...shared(PATHS.probe),
        name: 'probe.ridealong.dev',
        rules: creation('namespaces', 'Cluster'),
        failurePolicy: 'Fail',
        timeoutSeconds: 5,
        objectSelector: { matchLabels: { [PROBE_LABEL]: probe } },
      },
    ],
  }
}
