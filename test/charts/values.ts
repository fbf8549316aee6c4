/**
 * Values for the tests of the chart. PROVIDED selects certificates that the administrator provides,
 * SELF selects certificates that the webhook makes itself, EVERYTHING enables every optional part,
 * and LITTLE disables the parts that can be disabled.
 */
export const PROVIDED = [
  'certificates.mode=provided',
  'certificates.provided.secretName=tls',
  'certificates.provided.caBundle=-----BEGIN CERTIFICATE-----',
] as const

export const SELF = ['certificates.mode=self', 'prometheusRule.enabled=true'] as const

export const EVERYTHING = [
  'serviceMonitor.enabled=true',
  'prometheusRule.enabled=true',
  'grafanaDashboard.enabled=true',
  'observer.otlp.endpoint=http://collector.monitoring:4318',
  'guard.denyNamespaceSelector.matchLabels.guard=deny',
  'webhook.priorityClassName=system-cluster-critical',
  'imagePullSecrets[0].name=registry',
  'webhook.clientCertificates.secretName=callers',
  'archive.enabled=true',
  'archive.storage.enabled=true',
  'archive.storage.bucket.name=rows',
  'archive.storage.bucket.credentialsSecret=bucket',
  'archive.storage.bucket.caConfigMap=authority',
  'archive.publicURL=https://runs.example.org/ridealong',
] as const

export const LITTLE = [
  ...PROVIDED,
  'arming.repair=false',
  'guard.enabled=false',
  'imageHolder.enabled=false',
  'networkPolicy.enabled=false',
  'podDisruptionBudget.enabled=false',
  'removal.enabled=false',
] as const
