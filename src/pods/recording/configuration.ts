import type { Requirement } from './label-selector.ts'

/** The webhook endpoint of a recorder, and the pods that the apiserver sends to it. */
export interface Recorder {
  /**
   * The name of the MutatingWebhookConfiguration; the apiserver calls configurations in the order
   * of their names.
   */
  readonly name: string
  /** The URL at which the apiserver reaches the recorder, without a trailing slash. */
  readonly url: string
  /** The certificate of the authority that signed the recorder's certificate, in PEM. */
  readonly ca: string
  readonly namespaces: readonly string[]
  /** The requirements that the labels of the pods must match. */
  readonly selector: readonly Requirement[]
  /**
   * The label value of the probe Namespace. This Namespace is never created; a request to create it
   * shows whether calls reach the recorder.
   */
  readonly probe: string
}

/** The paths of the webhooks, relative to the URL. */
export const PATHS = { pods: '/pods', probe: '/probe' } as const

/** The label of the probe Namespace. */
export const PROBE_LABEL = 'ridealong.dev/recorder-probe'

const NAMESPACE_NAME = 'kubernetes.io/metadata.name'

/**
 * Builds the MutatingWebhookConfiguration of a recorder. The webhook for pods never rejects a pod,
 * and delays a pod by at most one second. The webhook for Namespaces is called only for Namespaces
 * with the probe label. If this call fails, the apiserver rejects the request, so that the error
 * shows the cause.
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
