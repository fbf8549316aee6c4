import { type KindRow, POD } from './kind-row.ts'

const SPARK = 'kubeflow/spark-operator 38082f3 internal/controller'
const APACHE_SPARK =
  'apache/spark-kubernetes-operator d5acafd spark-submission-worker/src/main/java/org/apache/' +
  'spark/k8s/operator'
const FLINK =
  'apache/flink-kubernetes-operator 6e9caeb flink-kubernetes-operator/src/main/java/org/apache/' +
  'flink/kubernetes/operator'
const DASK = 'dask/dask-kubernetes 1daa175 dask_kubernetes/operator/controller/controller.py'
const DASK_CLUSTER = `{worker: {replicas: 2, spec: ${POD}}, scheduler: {spec: ${POD}}}`
const PROMETHEUS = 'prometheus-operator/prometheus-operator 6adcebc pkg'
const OTEL = 'open-telemetry/opentelemetry-operator be89444 internal/manifests'
const ROLES = '{driver: {cores: 1}, executor: {instances: 2}}'

function conf(role: string) {
  return { path: 'spec.sparkConf', prefix: `spark.kubernetes.${role}.annotation.` }
}

function prometheus(kind: string, version: string, line: string): KindRow {
  const paths = ['spec.podMetadata.annotations']
  return [`monitoring.coreos.com/${version}`, kind, `${PROMETHEUS}/${line}`, '{}', paths]
}

function telemetry(kind: string, version: string, line: string): KindRow {
  const paths = ['spec.podAnnotations']
  return [`opentelemetry.io/${version}`, kind, `${OTEL}/${line}`, '{}', paths]
}

/** Kinds of operators that process data or collect metrics. */
export const DATA_KINDS: readonly KindRow[] = [
  [
    'sparkoperator.k8s.io/v1beta2',
    'SparkApplication',
    `${SPARK}/sparkapplication/submission.go:418, 785`,
    ROLES,
    ['spec.driver.annotations', 'spec.executor.annotations'],
  ],
  [
    'sparkoperator.k8s.io/v1beta2',
    'ScheduledSparkApplication',
    `${SPARK}/scheduledsparkapplication/controller.go:289`,
    `{schedule: "@daily", template: ${ROLES}}`,
    ['spec.template.driver.annotations', 'spec.template.executor.annotations'],
  ],
  [
    'sparkoperator.k8s.io/v1alpha1',
    'SparkConnect',
    `${SPARK}/sparkconnect/reconciler.go:350, options.go:124`,
    '{server: {cores: 1}, executor: {instances: 2}}',
    ['spec.server.template.metadata.annotations', conf('executor')],
  ],
  [
    'spark.apache.org/v1',
    'SparkApplication',
    `${APACHE_SPARK}/SparkAppSubmissionWorker.java:141`,
    '{sparkConf: {spark.executor.instances: "2"}}',
    [conf('driver'), conf('executor')],
  ],
  [
    'spark.apache.org/v1',
    'SparkCluster',
    `${APACHE_SPARK}/SparkClusterResourceSpec.java:227, 308`,
    '{masterSpec: {}}',
    ['master', 'worker'].map((role) => {
      return `spec.${role}Spec.statefulSetSpec.template.metadata.annotations`
    }),
  ],
  [
    'flink.apache.org/v1beta1',
    'FlinkDeployment',
    `${FLINK}/config/FlinkConfigBuilder.java:283`,
    '{jobManager: {replicas: 1}}',
    ['spec.podTemplate.metadata.annotations'],
  ],
  [
    'flink.apache.org/v1beta1',
    'FlinkBlueGreenDeployment',
    `${FLINK}/utils/bluegreen/BlueGreenUtils.java:367`,
    '{template: {spec: {jobManager: {replicas: 1}}}}',
    ['spec.template.spec.podTemplate.metadata.annotations'],
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskCluster',
    `${DASK}:361, 391`,
    DASK_CLUSTER,
    ['spec.worker.metadata.annotations', 'spec.scheduler.metadata.annotations'],
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskWorkerGroup',
    `${DASK}:684`,
    `{cluster: a, worker: {replicas: 2, spec: ${POD}}}`,
    ['spec.worker.metadata.annotations'],
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskJob',
    `${DASK}:787, 805`,
    `{job: {spec: ${POD}}, cluster: {spec: ${DASK_CLUSTER}}}`,
    ['job', 'cluster.spec.worker', 'cluster.spec.scheduler'].map((path) => {
      return `spec.${path}.metadata.annotations`
    }),
  ],
  prometheus('Prometheus', 'v1', 'prometheus/promcfg.go:1358'),
  prometheus('PrometheusAgent', 'v1alpha1', 'prometheus/promcfg.go:1358'),
  prometheus('Alertmanager', 'v1', 'alertmanager/statefulset.go:409'),
  prometheus('ThanosRuler', 'v1', 'thanos/statefulset.go:422'),
  telemetry('OpenTelemetryCollector', 'v1beta1', 'manifestutils/annotations.go:45'),
  telemetry('TargetAllocator', 'v1alpha1', 'targetallocator/annotations.go:36'),
  telemetry('OpAMPBridge', 'v1alpha1', 'opampbridge/annotations.go:39'),
]
