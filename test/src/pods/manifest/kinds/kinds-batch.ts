/** A kind, the line of its operator, a spec, and the annotated fields. */
export type KindRow = readonly [string, string, string, string, readonly string[]]

const API = 'kubernetes/api 10b39a39b'
const LWS = 'kubernetes-sigs/lws 060ab4d pkg/controllers'
const RAY = 'ray-project/kuberay feeaf72 ray-operator/controllers/ray'
const SPARK = 'kubeflow/spark-operator 38082f3 internal/controller/sparkapplication'
const TEKTON = 'tektoncd/pipeline 3ee1745 pkg'
const NIM = 'NVIDIA/k8s-nim-operator f63f74d'
const POD = '{containers: [{name: main, image: a}]}'
const TEMPLATED = `{template: {spec: ${POD}}}`
const TEMPLATE = ['spec.template.metadata.annotations']
const SPEC = ['spec.annotations']
const OBJECT = ['metadata.annotations']
const GROUP = `{leaderWorkerTemplate: {size: 2, workerTemplate: {spec: ${POD}}}}`
const NODE = `[{name: node, template: {spec: ${TEMPLATED}}}]`
const RAY_HEAD = `{headGroupSpec: ${TEMPLATED}}`

function trainingJob(kind: string, name: string, line: string): KindRow {
  const source = `kubeflow/training-operator 6f74c7f6b pkg/apis/kubeflow.org/v1/${line}`
  const field = `${name}ReplicaSpecs`
  const paths = [`spec.${field}.Worker.template.metadata.annotations`]
  return ['kubeflow.org/v1', kind, source, `{${field}: {Worker: ${TEMPLATED}}}`, paths]
}

/** Kinds of Kubernetes, and of operators of batch jobs and of services. */
export const BATCH_KINDS: readonly KindRow[] = [
  ['v1', 'Pod', `${API} core/v1/types.go:5796`, POD, OBJECT],
  ['v1', 'ReplicationController', `${API} core/v1/types.go:5917`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'StatefulSet', `${API} apps/v1/types.go:225`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'Deployment', `${API} apps/v1/types.go:431`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'DaemonSet', `${API} apps/v1/types.go:711`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'ReplicaSet', `${API} apps/v1/types.go:935`, TEMPLATED, TEMPLATE],
  ['batch/v1', 'Job', `${API} batch/v1/types.go:407`, TEMPLATED, TEMPLATE],
  [
    'batch/v1',
    'CronJob',
    `${API} batch/v1/types.go:828`,
    `{jobTemplate: {spec: ${TEMPLATED}}}`,
    ['spec.jobTemplate.spec.template.metadata.annotations'],
  ],
  [
    'jobset.x-k8s.io/v1alpha2',
    'JobSet',
    'kubernetes-sigs/jobset 08dfbdf api/jobset/v1alpha2/jobset_types.go:330',
    `{replicatedJobs: ${NODE}}`,
    ['spec.replicatedJobs.0.template.spec.template.metadata.annotations'],
  ],
  [
    'leaderworkerset.x-k8s.io/v1',
    'LeaderWorkerSet',
    `${LWS}/pod_controller.go:386`,
    GROUP,
    ['spec.leaderWorkerTemplate.workerTemplate.metadata.annotations'],
  ],
  [
    'disaggregatedset.x-k8s.io/v1',
    'DisaggregatedSet',
    `${LWS}/disaggregatedset/lws_manager.go:72`,
    `{roles: [{name: a, spec: ${GROUP}}]}`,
    ['spec.roles.0.spec.leaderWorkerTemplate.workerTemplate.metadata.annotations'],
  ],
  [
    'kubeflow.org/v2beta1',
    'MPIJob',
    'kubeflow/mpi-operator caa3c47 pkg/controller/mpi_job_controller.go:1502',
    `{mpiReplicaSpecs: {Worker: ${TEMPLATED}}}`,
    ['spec.mpiReplicaSpecs.Worker.template.metadata.annotations'],
  ],
  trainingJob('PyTorchJob', 'pytorch', 'pytorch_types.go:90'),
  trainingJob('TFJob', 'tf', 'tensorflow_types.go:87'),
  trainingJob('XGBoostJob', 'xgb', 'xgboost_types.go:54'),
  trainingJob('PaddleJob', 'paddle', 'paddlepaddle_types.go:87'),
  trainingJob('JAXJob', 'jax', 'jax_types.go:79'),
  [
    'trainer.kubeflow.org/v1alpha1',
    'TrainingRuntime',
    'kubeflow/trainer 8c0f505 pkg/apis/trainer/v1alpha1/trainingruntime_types.go:132',
    `{template: {spec: {replicatedJobs: ${NODE}}}}`,
    ['spec.template.spec.replicatedJobs.0.template.spec.template.metadata.annotations'],
  ],
  [
    'batch.volcano.sh/v1alpha1',
    'Job',
    'volcano-sh/volcano ed72c7c pkg/controllers/job/job_controller_util.go:47',
    `{tasks: [{name: a, template: {spec: ${POD}}}]}`,
    ['spec.tasks.0.template.metadata.annotations'],
  ],
  [
    'ray.io/v1',
    'RayJob',
    `${RAY}/rayjob_controller.go:1017`,
    `{rayClusterSpec: ${RAY_HEAD}}`,
    ['spec.rayClusterSpec.headGroupSpec.template.metadata.annotations'],
  ],
  [
    'ray.io/v1',
    'RayService',
    `${RAY}/rayservice_controller.go:1522`,
    `{rayClusterConfig: ${RAY_HEAD}}`,
    ['spec.rayClusterConfig.headGroupSpec.template.metadata.annotations'],
  ],
  [
    'flux-framework.org/v1alpha2',
    'MiniCluster',
    'flux-framework/flux-operator 0d75cef controllers/flux/job.go:79',
    '{size: 4, containers: [{image: a}]}',
    ['spec.pod.annotations'],
  ],
  [
    'flux-framework.org/v1alpha2',
    'MetricSet',
    'converged-computing/metrics-operator 8f15755 pkg/metrics/set.go:124',
    '{pods: 2}',
    ['spec.pod.annotations'],
  ],
  [
    'sparkoperator.k8s.io/v1beta2',
    'SparkApplication',
    `${SPARK}/submission.go:418, 785`,
    '{driver: {cores: 1}, executor: {instances: 2}}',
    ['spec.driver.annotations', 'spec.executor.annotations'],
  ],
  ['tekton.dev/v1', 'TaskRun', `${TEKTON}/pod/pod.go:506`, '{}', OBJECT],
  [
    'tekton.dev/v1',
    'PipelineRun',
    `${TEKTON}/reconciler/pipelinerun/pipelinerun.go:1796`,
    '{}',
    OBJECT,
  ],
  ['tekton.dev/v1', 'Task', `${TEKTON}/reconciler/taskrun/taskrun.go:1328`, '{}', OBJECT],
  [
    'tekton.dev/v1',
    'Pipeline',
    `${TEKTON}/reconciler/pipelinerun/pipelinerun.go:1976`,
    '{}',
    OBJECT,
  ],
  [
    'apps.nvidia.com/v1alpha1',
    'NIMService',
    `${NIM} api/apps/v1alpha1/nimservice_types.go:1285`,
    '{replicas: 1}',
    SPEC,
  ],
  [
    'production-stack.vllm.ai/v1alpha1',
    'VLLMRuntime',
    'vllm-project/production-stack a6c01db operator/internal/controller/' +
      'vllmruntime_controller.go:821',
    '{}',
    ['spec.deploymentConfig.podAnnotations'],
  ],
  [
    'monitoring.coreos.com/v1',
    'Alertmanager',
    'prometheus-operator/prometheus-operator 6adcebc pkg/alertmanager/statefulset.go:409',
    '{}',
    ['spec.podMetadata.annotations'],
  ],
  [
    'monitoring.coreos.com/v1',
    'ThanosRuler',
    'prometheus-operator/prometheus-operator 6adcebc pkg/thanos/statefulset.go:422',
    '{}',
    ['spec.podMetadata.annotations'],
  ],
]
