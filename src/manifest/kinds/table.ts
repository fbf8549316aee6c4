import type { Fields } from '../../core/kubernetes/json.ts'

/**
 * A kind whose objects create pods, or have annotations that apply to pods.
 *
 * A path consists of steps from the root of the object, separated by dots, with `*` for each item
 * of a list or map. A step that ends with `?` must exist in the object.
 */
export interface Kind {
  /** The API group without the version; empty for the core group of Kubernetes. */
  readonly group: string
  readonly kind: string
  /** The paths of the kind's pod templates. The path is empty if the object is a pod itself. */
  readonly templates?: readonly string[]
  /**
   * The paths of the annotations that the kind's operator copies to pods, other than the
   * annotations of templates.
   */
  readonly annotations?: readonly string[]
  /** Maps whose keys contain annotations of pods after a prefix. */
  readonly prefixed?: readonly PrefixedAnnotations[]
  /** A list of which one item adds annotations to pods. */
  readonly patches?: PatchList
  /** The paths of whole objects that the kind's operator creates. */
  readonly wraps?: readonly string[]
  /** The reason why the kind has no such field, with advice. */
  readonly instead?: string
}

export interface PrefixedAnnotations {
  readonly path: string
  readonly prefix: string
}

export interface PatchList {
  readonly path: string
  /** The path of the annotations in the items of the list. */
  readonly annotations: string
  /** The path of names in the items, one of which must be `name`. */
  readonly names: string
  readonly name: string
  /** Builds an item that adds annotations to the pods of `name`. */
  readonly build: (annotations: Fields) => unknown
}

const OF_REPLICAS = '.*.template'
const OF_JOBSET = 'spec.replicatedJobs.*.template.spec.template'

function rayCluster(at: string): readonly string[] {
  return [`${at}.headGroupSpec.template`, `${at}.workerGroupSpecs.*.template`]
}

function spark(at: string): readonly string[] {
  return [`${at}.driver.annotations`, `${at}.executor.annotations`]
}

const TRAINER_JOBS = 'trainingRuntimeSpec.template.spec.replicatedJobs'
const TRAINER_TEMPLATE = `${TRAINER_JOBS}.*.template.spec.template`
const TRAINER_ANNOTATIONS = `spec.runtimePatches.*.${TRAINER_TEMPLATE}.metadata.annotations`

/**
 * Builds a patch of a TrainJob (trainer pkg/apis/trainer/v1alpha1/trainjob_types.go, RuntimePatch).
 * All runtimes that Trainer ships have a job `node` (trainer manifests/base/runtimes).
 */
function buildTrainerPatch(annotations: Fields): unknown {
  const template = { metadata: { annotations } }
  const jobs = [{ name: 'node', template: { spec: { template } } }]
  const trainingRuntimeSpec = { template: { spec: { replicatedJobs: jobs } } }
  return { manager: 'ridealong.dev/annotate', trainingRuntimeSpec }
}

/**
 * Returns the keys of a Spark configuration that add annotations (spark
 * docs/running-on-kubernetes.md).
 */
function sparkConf(...roles: readonly string[]): readonly PrefixedAnnotations[] {
  return roles.map((role) => {
    return { path: 'spec.sparkConf', prefix: `spark.kubernetes.${role}.annotation.` }
  })
}

/** The paths of the pod templates of Dask (dask_kubernetes/operator/customresources). */
function daskCluster(at: string): readonly string[] {
  return [`${at}.scheduler`, `${at}.worker`]
}

const NO_FIELD = 'its operator copies no annotations to its pods; annotate the namespace'

const LLM_WORKLOADS = ['spec.annotations', 'spec.prefill?.annotations']

const ARGO =
  'its pods cannot have observers: Argo Workflows signals process 1, which is not the ' +
  'application in a shared process namespace'

/**
 * The known kinds. The paths come from the types in each operator's source, in api/ or pkg/apis/.
 */
const KINDS: readonly Kind[] = [
  { group: '', kind: 'Namespace', annotations: ['metadata.annotations'] },
  { group: '', kind: 'Pod', templates: [''] },
  { group: '', kind: 'PodTemplate', templates: ['template'] },
  { group: '', kind: 'ReplicationController', templates: ['spec.template'] },
  { group: 'apps', kind: 'Deployment', templates: ['spec.template'] },
  { group: 'apps', kind: 'StatefulSet', templates: ['spec.template'] },
  { group: 'apps', kind: 'DaemonSet', templates: ['spec.template'] },
  { group: 'apps', kind: 'ReplicaSet', templates: ['spec.template'] },
  { group: 'batch', kind: 'Job', templates: ['spec.template'] },
  { group: 'batch', kind: 'CronJob', templates: ['spec.jobTemplate.spec.template'] },
  { group: 'jobset.x-k8s.io', kind: 'JobSet', templates: [OF_JOBSET] },
  {
    group: 'leaderworkerset.x-k8s.io',
    kind: 'LeaderWorkerSet',
    templates: [
      'spec.leaderWorkerTemplate.leaderTemplate',
      'spec.leaderWorkerTemplate.workerTemplate',
    ],
  },
  { group: 'kubeflow.org', kind: 'MPIJob', templates: [`spec.mpiReplicaSpecs${OF_REPLICAS}`] },
  {
    group: 'kubeflow.org',
    kind: 'PyTorchJob',
    templates: [`spec.pytorchReplicaSpecs${OF_REPLICAS}`],
  },
  { group: 'kubeflow.org', kind: 'TFJob', templates: [`spec.tfReplicaSpecs${OF_REPLICAS}`] },
  { group: 'kubeflow.org', kind: 'XGBoostJob', templates: [`spec.xgbReplicaSpecs${OF_REPLICAS}`] },
  {
    group: 'kubeflow.org',
    kind: 'PaddleJob',
    templates: [`spec.paddleReplicaSpecs${OF_REPLICAS}`],
  },
  { group: 'kubeflow.org', kind: 'JAXJob', templates: [`spec.jaxReplicaSpecs${OF_REPLICAS}`] },
  {
    group: 'trainer.kubeflow.org',
    kind: 'TrainingRuntime',
    templates: [`spec.template.${OF_JOBSET}`],
  },
  {
    group: 'trainer.kubeflow.org',
    kind: 'ClusterTrainingRuntime',
    templates: [`spec.template.${OF_JOBSET}`],
  },
  {
    group: 'trainer.kubeflow.org',
    kind: 'TrainJob',
    annotations: [TRAINER_ANNOTATIONS],
    patches: {
      path: 'spec.runtimePatches',
      annotations: TRAINER_ANNOTATIONS,
      names: `spec.runtimePatches.*.${TRAINER_JOBS}.*.name`,
      name: 'node',
      build: buildTrainerPatch,
    },
  },
  { group: 'batch.volcano.sh', kind: 'Job', templates: ['spec.tasks.*.template'] },
  { group: 'ray.io', kind: 'RayCluster', templates: rayCluster('spec') },
  {
    group: 'ray.io',
    kind: 'RayJob',
    templates: [...rayCluster('spec.rayClusterSpec'), 'spec.submitterPodTemplate'],
  },
  { group: 'ray.io', kind: 'RayService', templates: rayCluster('spec.rayClusterConfig') },
  { group: 'flux-framework.org', kind: 'MiniCluster', annotations: ['spec.pod.annotations'] },
  { group: 'flux-framework.org', kind: 'MetricSet', annotations: ['spec.pod.annotations'] },
  { group: 'sparkoperator.k8s.io', kind: 'SparkApplication', annotations: spark('spec') },
  {
    group: 'sparkoperator.k8s.io',
    kind: 'ScheduledSparkApplication',
    annotations: spark('spec.template'),
  },
  // Tekton (pkg/pod) copies all annotations of a PipelineRun to its TaskRuns, and all annotations
  // of a TaskRun to its pod.
  { group: 'tekton.dev', kind: 'TaskRun', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'PipelineRun', annotations: ['metadata.annotations'] },
  // Knative rejects a template that shares its process namespace, but accepts pods in which sharing
  // is enabled later.
  {
    group: 'serving.knative.dev',
    kind: 'Service',
    annotations: ['spec.template.metadata.annotations'],
  },
  {
    group: 'serving.knative.dev',
    kind: 'Configuration',
    annotations: ['spec.template.metadata.annotations'],
  },
  // Tekton copies the annotations of a Task to its TaskRuns, and those of a Pipeline to its
  // PipelineRuns (pipeline pkg/reconciler/{taskrun,pipelinerun}).
  { group: 'tekton.dev', kind: 'Task', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'ClusterTask', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'Pipeline', annotations: ['metadata.annotations'] },
  // Spark's own operator (spark-kubernetes-operator, docs/spark_custom_resources.md).
  {
    group: 'spark.apache.org',
    kind: 'SparkApplication',
    prefixed: sparkConf('driver', 'executor'),
  },
  {
    group: 'spark.apache.org',
    kind: 'SparkCluster',
    annotations: [
      'spec.masterSpec.statefulSetSpec.template.metadata.annotations',
      'spec.workerSpec.statefulSetSpec.template.metadata.annotations',
    ],
  },
  // The Flink operator merges spec.podTemplate into the pods of both roles
  // (flink-kubernetes-operator, docs/content/docs/custom-resource/pod-template.md).
  {
    group: 'flink.apache.org',
    kind: 'FlinkDeployment',
    annotations: ['spec.podTemplate.metadata.annotations'],
  },
  {
    group: 'flink.apache.org',
    kind: 'FlinkBlueGreenDeployment',
    annotations: ['spec.template.spec.podTemplate.metadata.annotations'],
  },
  { group: 'kubernetes.dask.org', kind: 'DaskCluster', templates: daskCluster('spec') },
  { group: 'kubernetes.dask.org', kind: 'DaskWorkerGroup', templates: ['spec.worker'] },
  {
    group: 'kubernetes.dask.org',
    kind: 'DaskJob',
    templates: ['spec.job', ...daskCluster('spec.cluster.spec')],
  },
  // KServe: the annotations of a component (pkg/apis/serving/v1beta1/component.go), of a runtime
  // (pkg/apis/serving/v1alpha1/servingruntime_types.go) and of a workload
  // (pkg/apis/serving/v1alpha2/llm_inference_service_types.go).
  {
    group: 'serving.kserve.io',
    kind: 'InferenceService',
    annotations: [
      'spec.predictor?.annotations',
      'spec.transformer?.annotations',
      'spec.explainer?.annotations',
    ],
  },
  { group: 'serving.kserve.io', kind: 'ServingRuntime', annotations: ['spec.annotations'] },
  { group: 'serving.kserve.io', kind: 'ClusterServingRuntime', annotations: ['spec.annotations'] },
  { group: 'serving.kserve.io', kind: 'LLMInferenceService', annotations: LLM_WORKLOADS },
  { group: 'serving.kserve.io', kind: 'LLMInferenceServiceConfig', annotations: LLM_WORKLOADS },
  // NIM (k8s-nim-operator api/apps/v1alpha1, GetNIMServiceAnnotations).
  { group: 'apps.nvidia.com', kind: 'NIMService', annotations: ['spec.annotations'] },
  {
    group: 'apps.nvidia.com',
    kind: 'NIMPipeline',
    annotations: ['spec.services.*.spec.annotations'],
  },
  // The deployments of this operator have no annotations (vLLM production-stack,
  // operator/api/v1alpha1/vllmruntime_types.go and its controller).
  { group: 'production-stack.vllm.ai', kind: 'VLLMRuntime', instead: NO_FIELD },
  { group: 'production-stack.vllm.ai', kind: 'VLLMRouter', instead: NO_FIELD },
  { group: 'production-stack.vllm.ai', kind: 'CacheServer', instead: NO_FIELD },
  // prometheus-operator pkg/apis/monitoring, EmbeddedObjectMetadata of the pods.
  ...['Prometheus', 'PrometheusAgent', 'Alertmanager', 'ThanosRuler'].map((kind) => {
    return {
      group: 'monitoring.coreos.com',
      kind,
      annotations: ['spec.podMetadata.annotations'],
    }
  }),
  // opentelemetry-operator apis/v1beta1, OpenTelemetryCommonFields.
  {
    group: 'opentelemetry.io',
    kind: 'OpenTelemetryCollector',
    annotations: ['spec.podAnnotations'],
  },
  { group: 'keda.sh', kind: 'ScaledJob', templates: ['spec.jobTargetRef.template'] },
  // Kinds that contain whole objects: AppWrapper (appwrapper api/v1beta2), Katib's experiments and
  // trials (katib pkg/apis/controller), templates of Tekton Triggers and OpenShift, and the
  // manifests of Open Cluster Management and Karmada.
  { group: 'workload.codeflare.dev', kind: 'AppWrapper', wraps: ['spec.components.*.template'] },
  { group: 'kubeflow.org', kind: 'Experiment', wraps: ['spec.trialTemplate.trialSpec'] },
  { group: 'kubeflow.org', kind: 'Trial', wraps: ['spec.runSpec'] },
  { group: 'triggers.tekton.dev', kind: 'TriggerTemplate', wraps: ['spec.resourcetemplates.*'] },
  { group: 'template.openshift.io', kind: 'Template', wraps: ['objects.*'] },
  {
    group: 'work.open-cluster-management.io',
    kind: 'ManifestWork',
    wraps: ['spec.workload.manifests.*'],
  },
  { group: 'work.karmada.io', kind: 'Work', wraps: ['spec.workload.manifests.*'] },
  { group: 'argoproj.io', kind: 'Workflow', instead: ARGO },
  { group: 'argoproj.io', kind: 'CronWorkflow', instead: ARGO },
  { group: 'argoproj.io', kind: 'WorkflowTemplate', instead: ARGO },
  { group: 'argoproj.io', kind: 'ClusterWorkflowTemplate', instead: ARGO },
  { group: 'my.domain', kind: 'Lolcow', instead: NO_FIELD },
  { group: 'app.example.com', kind: 'Netperf', instead: NO_FIELD },
]

const BY_NAME = new Map(KINDS.map((row) => [`${row.group}/${row.kind}`, row]))

/** Returns the entry of a kind, or undefined if the kind is not listed. */
export function findKind(group: string, kind: string): Kind | undefined {
  return BY_NAME.get(`${group}/${kind}`)
}
