import { type KindRow, OBJECT, POD, TEMPLATE, TEMPLATED } from './kind-row.ts'

const LWS = 'kubernetes-sigs/lws 060ab4d pkg/controllers'
const TRAINER = 'kubeflow/trainer 8c0f505 pkg'
const VOLCANO = 'volcano-sh/volcano ed72c7c pkg/controllers'
const RAY = 'ray-project/kuberay feeaf72 ray-operator/controllers/ray'
const SLINKY = 'slinky.slurm.net/v1beta1'
const BUILDER = 'SlinkyProject/slurm-operator f2ed3fc5 internal/builder'
const GROVE = 'ai-dynamo/grove fcc3b3bb operator/internal/controller'
const GROUP = `{leaderWorkerTemplate: {size: 2, workerTemplate: {spec: ${POD}}}}`
const NODE = `[{name: node, template: {spec: ${TEMPLATED}}}]`
const TASKS = `[{name: a, template: {spec: ${POD}}}]`
const RAY_HEAD = `{headGroupSpec: ${TEMPLATED}}`
const RAY_CLUSTER = `{headGroupSpec: ${TEMPLATED}, workerGroupSpecs: [${TEMPLATED}]}`
const NODES = '{replicas: 4, slurmd: {image: a}, template: {spec: {nodeSelector: {a: b}}}}'
const CLIQUES = `[{name: a, spec: {podSpec: ${POD}}}, {name: b, spec: {podSpec: ${POD}}}]`

function trainingJob(kind: string, name: string, line: string): KindRow {
  const source = `kubeflow/training-operator 6f74c7f6b pkg/apis/kubeflow.org/v1/${line}`
  const field = `${name}ReplicaSpecs`
  const paths = [`spec.${field}.Worker.template.metadata.annotations`]
  return ['kubeflow.org/v1', kind, source, `{${field}: {Worker: ${TEMPLATED}}}`, paths]
}

function trainingRuntime(kind: string, line: string): KindRow {
  const path = 'spec.template.spec.replicatedJobs.0.template.spec.template.metadata.annotations'
  const spec = `{template: {spec: {replicatedJobs: ${NODE}}}}`
  return ['trainer.kubeflow.org/v1alpha1', kind, `${TRAINER}/${line}`, spec, [path]]
}

/** Kinds of operators of batch jobs and of their clusters. */
export const BATCH_KINDS: readonly KindRow[] = [
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
  trainingRuntime('TrainingRuntime', 'apis/trainer/v1alpha1/trainingruntime_types.go:132'),
  trainingRuntime('ClusterTrainingRuntime', 'runtime/core/clustertrainingruntime.go:78'),
  [
    'trainer.kubeflow.org/v1alpha1',
    'TrainJob',
    `${TRAINER}/runtime/core/trainingruntime.go:280`,
    '{}',
    [
      'spec.runtimePatches.0.trainingRuntimeSpec.template.spec.replicatedJobs.0.template.spec.' +
        'template.metadata.annotations',
    ],
  ],
  [
    'batch.volcano.sh/v1alpha1',
    'Job',
    `${VOLCANO}/job/job_controller_util.go:47`,
    `{tasks: ${TASKS}}`,
    ['spec.tasks.0.template.metadata.annotations'],
  ],
  [
    'batch.volcano.sh/v1alpha1',
    'CronJob',
    `${VOLCANO}/cronjob/cronjob_controller_util.go:275`,
    `{jobTemplate: {spec: {tasks: ${TASKS}}}}`,
    ['spec.jobTemplate.spec.tasks.0.template.metadata.annotations'],
  ],
  [
    'flow.volcano.sh/v1alpha1',
    'JobTemplate',
    `${VOLCANO}/jobflow/jobflow_controller_action.go:274`,
    `{tasks: ${TASKS}}`,
    ['spec.tasks.0.template.metadata.annotations'],
  ],
  [
    'flow.volcano.sh/v1alpha1',
    'JobFlow',
    `${VOLCANO}/jobflow/jobflow_controller_action.go:274`,
    '{flows: [{name: a}]}',
    /annotate the JobTemplates$/,
  ],
  [
    'ray.io/v1',
    'RayCluster',
    `${RAY}/common/pod.go:218, 596`,
    RAY_CLUSTER,
    ['headGroupSpec', 'workerGroupSpecs.0'].map((group) => {
      return `spec.${group}.template.metadata.annotations`
    }),
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
    'RayCronJob',
    `${RAY}/raycronjob_controller.go:182`,
    `{jobTemplate: {rayClusterSpec: ${RAY_HEAD}}}`,
    ['spec.jobTemplate.rayClusterSpec.headGroupSpec.template.metadata.annotations'],
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
    'ensemble.flux-framework.org/v1alpha1',
    'Ensemble',
    'converged-computing/ensemble-operator 31bf039 api/v1alpha1/ensemble_types.go:50',
    '{members: [{minicluster: {spec: {size: 4}}}, {type: other}]}',
    ['spec.members.0.minicluster.spec.pod.annotations'],
  ],
  [SLINKY, 'NodeSet', `${BUILDER}/workerbuilder/worker_app.go:44`, NODES, TEMPLATE],
  [SLINKY, 'LoginSet', `${BUILDER}/loginbuilder/login_app.go:79`, '{}', TEMPLATE],
  [SLINKY, 'Controller', `${BUILDER}/controllerbuilder/controller_app.go:38`, '{}', TEMPLATE],
  [SLINKY, 'RestApi', `${BUILDER}/restapibuilder/restapi_app.go:43`, '{}', TEMPLATE],
  [SLINKY, 'Accounting', `${BUILDER}/accountingbuilder/accounting_app.go:37`, '{}', TEMPLATE],
  [
    'slurm.nebius.ai/v1alpha1',
    'NodeSet',
    'nebius/soperator c238d993 internal/render/worker/statefulset.go:239',
    '{replicas: 2}',
    ['spec.workerAnnotations'],
  ],
  [
    'grove.io/v1alpha1',
    'PodCliqueSet',
    `${GROVE}/podcliqueset/components/podclique/podclique.go:309`,
    `{template: {cliques: ${CLIQUES}}}`,
    ['spec.template.cliques.0.annotations', 'spec.template.cliques.1.annotations'],
  ],
  [
    'grove.io/v1alpha1',
    'PodClique',
    `${GROVE}/podclique/components/pod/pod.go:155`,
    `{podSpec: ${POD}}`,
    OBJECT,
  ],
  [
    'elastic.iml.github.io/v1alpha1',
    'ElasticJob',
    'intelligent-machine-learning/dlrover 7c3e9648 go/elasticjob/pkg/common/api/v1/types.go:94',
    `{replicaSpecs: {worker: {replicas: 2, template: {spec: ${POD}}}}}`,
    ['spec.replicaSpecs.worker.template.metadata.annotations'],
  ],
]
