import type { Fields } from '../../../core/kubernetes/json.ts'
import { isWithoutPods } from './without-pods.ts'

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
  /** The path of a list of containers, if the kind has one apart from pod templates. */
  readonly containers?: string
  /** The paths of whole objects that the kind's operator creates. */
  readonly wraps?: readonly string[]
  /** The reason why the kind has no such field, with advice. */
  readonly instead?: string
  /** False if no supported version of Kubernetes serves the kind, so that it has no pods. */
  readonly isServed?: boolean
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

function rayJob(at: string): readonly string[] {
  return [...rayCluster(`${at}.rayClusterSpec`), `${at}.submitterPodTemplate`]
}

function leaderWorkers(at: string): readonly string[] {
  return ['leaderTemplate', 'workerTemplate'].map((name) => `${at}.leaderWorkerTemplate.${name}`)
}

function spark(at: string): readonly string[] {
  return [`${at}.driver.annotations`, `${at}.executor.annotations`]
}

const TRAINER_JOBS = 'trainingRuntimeSpec.template.spec.replicatedJobs'
const TRAINER_TEMPLATE = `${TRAINER_JOBS}.*.template.spec.template`
const TRAINER_ANNOTATIONS = `spec.runtimePatches.*.${TRAINER_TEMPLATE}.metadata.annotations`

/**
 * Builds a patch of a TrainJob (kubeflow/trainer 8c0f505
 * pkg/apis/trainer/v1alpha1/trainjob_types.go, RuntimePatch). All runtimes that Trainer ships have
 * a job `node` (manifests/base/runtimes).
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

function daskCluster(at: string): readonly string[] {
  return [`${at}.scheduler`, `${at}.worker`]
}

const NO_FIELD = 'its operator copies no annotations to its pods; annotate the namespace'

const NOT_SERVED = 'Kubernetes 1.16 and later do not serve extensions/v1beta1; write apps/v1'

const VOLCANO_TASKS = 'tasks.*.template'

const WORKSPACE_ANNOTATIONS = 'spec.podTemplate.podMetadata.annotations'

const LLM_WORKLOADS = ['spec.annotations', 'spec.prefill?.annotations']

/** The workers of a runtime for several nodes do not get the annotations of its other pods. */
const RUNTIME_ANNOTATIONS = ['spec.annotations', 'spec.workerSpec?.annotations']

const ARGO =
  'its pods cannot have observers: Argo Workflows signals process 1, which is not the ' +
  'application in a shared process namespace'

/**
 * The known kinds. The comment above a row names the repository, the commit and the file that
 * define the path or copy the annotations. The schema of each kind's CustomResourceDefinition has
 * the path, so that the API server does not drop the annotations.
 */
export const KINDS: readonly Kind[] = [
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
  // kubernetes-sigs/jobset 08dfbdf api/jobset/v1alpha2/jobset_types.go.
  { group: 'jobset.x-k8s.io', kind: 'JobSet', templates: [OF_JOBSET] },
  // kubernetes-sigs/lws 060ab4d api/leaderworkerset/v1/leaderworkerset_types.go.
  {
    group: 'leaderworkerset.x-k8s.io',
    kind: 'LeaderWorkerSet',
    templates: leaderWorkers('spec'),
  },
  // kubernetes-sigs/lws 060ab4d api/disaggregatedset/v1/disaggregatedset_types.go.
  {
    group: 'disaggregatedset.x-k8s.io',
    kind: 'DisaggregatedSet',
    templates: leaderWorkers('spec.roles.*.spec'),
  },
  // kubeflow/mpi-operator caa3c47 pkg/apis/kubeflow/v2beta1/types.go; for the other kinds,
  // kubeflow/training-operator 1.9 pkg/apis/kubeflow.org/v1/*_types.go.
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
  // kubeflow/trainer 8c0f505 pkg/apis/trainer/v1alpha1/trainingruntime_types.go.
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
  // volcano-sh/volcano ed72c7c staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go, and
  // flow/v1alpha1/{jobtemplate,jobflow}_types.go.
  { group: 'batch.volcano.sh', kind: 'Job', templates: [`spec.${VOLCANO_TASKS}`] },
  {
    group: 'batch.volcano.sh',
    kind: 'CronJob',
    templates: [`spec.jobTemplate.spec.${VOLCANO_TASKS}`],
  },
  { group: 'flow.volcano.sh', kind: 'JobTemplate', templates: [`spec.${VOLCANO_TASKS}`] },
  {
    group: 'flow.volcano.sh',
    kind: 'JobFlow',
    instead: 'its jobs are copies of JobTemplates; annotate the JobTemplates',
  },
  // ray-project/kuberay feeaf72 ray-operator/apis/ray/v1/ray{cluster,job,cronjob,service}_types.go.
  { group: 'ray.io', kind: 'RayCluster', templates: rayCluster('spec') },
  { group: 'ray.io', kind: 'RayJob', templates: rayJob('spec') },
  { group: 'ray.io', kind: 'RayCronJob', templates: rayJob('spec.jobTemplate') },
  { group: 'ray.io', kind: 'RayService', templates: rayCluster('spec.rayClusterConfig') },
  // flux-framework/flux-operator 0d75cef controllers/flux/job.go.
  // The containers and their resources: api/v1alpha2/minicluster_types.go, MiniClusterContainer.
  {
    group: 'flux-framework.org',
    kind: 'MiniCluster',
    annotations: ['spec.pod.annotations'],
    containers: 'spec.containers',
  },
  // converged-computing/metrics-operator 8f15755 pkg/metrics/set.go.
  { group: 'flux-framework.org', kind: 'MetricSet', annotations: ['spec.pod.annotations'] },
  // kubeflow/spark-operator 38082f3 api/v1beta2/sparkapplication_types.go, SparkPodSpec.
  { group: 'sparkoperator.k8s.io', kind: 'SparkApplication', annotations: spark('spec') },
  {
    group: 'sparkoperator.k8s.io',
    kind: 'ScheduledSparkApplication',
    annotations: spark('spec.template'),
  },
  // kubeflow/spark-operator 38082f3 internal/controller/sparkconnect/{reconciler,options}.go. The
  // server's pod has the annotations of its template, which needs no containers.
  {
    group: 'sparkoperator.k8s.io',
    kind: 'SparkConnect',
    annotations: ['spec.server.template.metadata.annotations'],
    prefixed: sparkConf('executor'),
  },
  // Tekton copies all annotations of a PipelineRun to its TaskRuns, and all annotations of a
  // TaskRun to its pod (tektoncd/pipeline 3ee1745 pkg/reconciler/pipelinerun/pipelinerun.go,
  // createChildResourceAnnotations; pkg/pod/pod.go).
  { group: 'tekton.dev', kind: 'TaskRun', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'PipelineRun', annotations: ['metadata.annotations'] },
  // knative/serving 98e5ef9 pkg/apis/serving/v1/{service,configuration}_types.go.
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
  // PipelineRuns (tektoncd/pipeline 3ee1745 pkg/reconciler/taskrun/taskrun.go and
  // pkg/reconciler/pipelinerun/pipelinerun.go). For a ClusterTask, a kind that Tekton has removed,
  // 0.68 did the same (c6d38c9d pkg/reconciler/taskrun/resources/taskref.go), but 0.56 did not.
  { group: 'tekton.dev', kind: 'Task', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'ClusterTask', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'Pipeline', annotations: ['metadata.annotations'] },
  // Spark's own operator (apache/spark-kubernetes-operator d5acafd docs/spark_custom_resources.md,
  // and MasterSpec.java and WorkerSpec.java of spark-operator-api).
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
  // (apache/flink-kubernetes-operator 6e9caeb docs/content/docs/custom-resource/pod-template.md).
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
  // dask/dask-kubernetes 1daa175 dask_kubernetes/operator/controller/controller.py: the metadata of
  // the scheduler, of the worker and of the job are those of their pods.
  { group: 'kubernetes.dask.org', kind: 'DaskCluster', templates: daskCluster('spec') },
  { group: 'kubernetes.dask.org', kind: 'DaskWorkerGroup', templates: ['spec.worker'] },
  {
    group: 'kubernetes.dask.org',
    kind: 'DaskJob',
    templates: ['spec.job', ...daskCluster('spec.cluster.spec')],
  },
  // kserve/kserve aaac4e2: the annotations of a component (pkg/apis/serving/v1beta1/component.go),
  // of a runtime (pkg/apis/serving/v1alpha1/servingruntime_types.go) and of a workload
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
  { group: 'serving.kserve.io', kind: 'ServingRuntime', annotations: RUNTIME_ANNOTATIONS },
  { group: 'serving.kserve.io', kind: 'ClusterServingRuntime', annotations: RUNTIME_ANNOTATIONS },
  { group: 'serving.kserve.io', kind: 'LLMInferenceService', annotations: LLM_WORKLOADS },
  { group: 'serving.kserve.io', kind: 'LLMInferenceServiceConfig', annotations: LLM_WORKLOADS },
  // NVIDIA/k8s-nim-operator f63f74d api/apps/v1alpha1/nimservice_types.go,
  // GetNIMServiceAnnotations; nimpipeline_types.go, NIMServicePipelineSpec.
  { group: 'apps.nvidia.com', kind: 'NIMService', annotations: ['spec.annotations'] },
  {
    group: 'apps.nvidia.com',
    kind: 'NIMPipeline',
    annotations: ['spec.services.*.spec.annotations'],
  },
  // NVIDIA/k8s-nim-operator f63f74d api/apps/v1alpha1/nemo_*_types.go, the functions that return
  // PodAnnotations.
  ...['Customizer', 'Datastore', 'Entitystore', 'Evaluator', 'Guardrail'].map((name) => {
    return { group: 'apps.nvidia.com', kind: `Nemo${name}`, annotations: ['spec.annotations'] }
  }),
  // NVIDIA/k8s-nim-operator f63f74d internal/controller/nim{build,cache}_controller.go. The
  // controller ignores spec.annotations of a NIMBuild.
  { group: 'apps.nvidia.com', kind: 'NIMBuild', annotations: ['metadata.annotations'] },
  { group: 'apps.nvidia.com', kind: 'NIMCache', instead: NO_FIELD },
  // vllm-project/production-stack a6c01db operator/api/v1alpha1/vllmruntime_types.go. The runtimes
  // have the field since 2026-05; the deployments of the other kinds have no annotations
  // (operator/internal/controller/{vllmrouter,cacheserver}_controller.go).
  {
    group: 'production-stack.vllm.ai',
    kind: 'VLLMRuntime',
    annotations: ['spec.deploymentConfig.podAnnotations'],
  },
  { group: 'production-stack.vllm.ai', kind: 'VLLMRouter', instead: NO_FIELD },
  { group: 'production-stack.vllm.ai', kind: 'CacheServer', instead: NO_FIELD },
  // prometheus-operator/prometheus-operator 6adcebc
  // pkg/apis/monitoring/v1/{prometheus,alertmanager,thanos}_types.go, PodMetadata; an agent has the
  // common fields of a Prometheus (pkg/apis/monitoring/v1alpha1/prometheusagent_types.go).
  ...['Prometheus', 'PrometheusAgent', 'Alertmanager', 'ThanosRuler'].map((kind) => {
    return {
      group: 'monitoring.coreos.com',
      kind,
      annotations: ['spec.podMetadata.annotations'],
    }
  }),
  // open-telemetry/opentelemetry-operator be89444 apis/v1beta1/common.go,
  // OpenTelemetryCommonFields, and apis/v1alpha1/opampbridge_types.go.
  ...['OpenTelemetryCollector', 'TargetAllocator', 'OpAMPBridge'].map((kind) => {
    return { group: 'opentelemetry.io', kind, annotations: ['spec.podAnnotations'] }
  }),
  // The controller copies the annotations of a Notebook to its pod, except those with `kubectl` or
  // `notebook` in the key (opendatahub-io/kubeflow b85f66a
  // components/notebook-controller/controllers/notebook_controller.go).
  { group: 'kubeflow.org', kind: 'Notebook', annotations: ['metadata.annotations'] },
  // kedacore/keda 8b4f083 apis/keda/v1alpha1/scaledjob_types.go.
  { group: 'keda.sh', kind: 'ScaledJob', templates: ['spec.jobTargetRef.template'] },
  // Kinds that contain whole objects: AppWrapper (project-codeflare/appwrapper b47a99e
  // api/v1beta2/appwrapper_types.go), Katib's experiments and trials (kubeflow/katib 33c8ff4
  // pkg/apis/controller/{experiments,trials}/v1beta1), templates of Tekton Triggers and OpenShift,
  // and the manifests of Open Cluster Management and Karmada.
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
  // SlinkyProject/slurm-operator f2ed3fc5 internal/builder/{worker,login,controller,restapi,
  // accounting}builder/*_app.go, WithMetadata. The template needs no containers.
  ...['NodeSet', 'LoginSet', 'Controller', 'RestApi', 'Accounting'].map((kind) => {
    return { group: 'slinky.slurm.net', kind, annotations: ['spec.template.metadata.annotations'] }
  }),
  // nebius/soperator c238d993 internal/values/slurm_nodeset.go and
  // internal/render/worker/statefulset.go, renderNodeSetAnnotations.
  { group: 'slurm.nebius.ai', kind: 'NodeSet', annotations: ['spec.workerAnnotations'] },
  // ai-dynamo/grove fcc3b3bb operator/internal/controller/podcliqueset/components/podclique/
  // podclique.go and operator/internal/controller/podclique/components/pod/pod.go.
  {
    group: 'grove.io',
    kind: 'PodCliqueSet',
    annotations: ['spec.template.cliques.*.annotations'],
  },
  { group: 'grove.io', kind: 'PodClique', annotations: ['metadata.annotations'] },
  // ai-dynamo/dynamo 0d597e7c and 2a6da14c8 deploy/operator/internal/dynamo/graph.go,
  // generateAnnotations: services in v1alpha1, components in v1beta1.
  {
    group: 'nvidia.com',
    kind: 'DynamoGraphDeployment',
    annotations: [
      'spec.services.*.extraPodMetadata.annotations',
      'spec.components.*.podTemplate.metadata.annotations',
    ],
  },
  // converged-computing/ensemble-operator 31bf039 api/v1alpha1/ensemble_types.go: a member is a
  // whole MiniCluster.
  {
    group: 'ensemble.flux-framework.org',
    kind: 'Ensemble',
    annotations: ['spec.members.*.minicluster?.spec.pod.annotations'],
  },
  // kubeflow/notebooks 8b610577 workspaces/controller/internal/controller/workspace_controller.go.
  { group: 'kubeflow.org', kind: 'Workspace', annotations: [WORKSPACE_ANNOTATIONS] },
  { group: 'kubeflow.org', kind: 'WorkspaceKind', annotations: [WORKSPACE_ANNOTATIONS] },
  // intelligent-machine-learning/dlrover 7c3e9648 go/elasticjob/pkg/common/api/v1/types.go.
  {
    group: 'elastic.iml.github.io',
    kind: 'ElasticJob',
    templates: ['spec.replicaSpecs.*.template'],
  },
  { group: 'argoproj.io', kind: 'Workflow', instead: ARGO },
  { group: 'argoproj.io', kind: 'CronWorkflow', instead: ARGO },
  { group: 'argoproj.io', kind: 'WorkflowTemplate', instead: ARGO },
  { group: 'argoproj.io', kind: 'ClusterWorkflowTemplate', instead: ARGO },
  // Kubernetes does not serve extensions/v1beta1 since 1.16 (kubernetes v1.16
  // CHANGELOG/CHANGELOG-1.16.md, Deprecations and Removals).
  ...['DaemonSet', 'Deployment', 'ReplicaSet'].map((kind) => {
    return { group: 'extensions', kind, instead: NOT_SERVED, isServed: false }
  }),
  { group: 'my.domain', kind: 'Lolcow', instead: NO_FIELD },
  { group: 'app.example.com', kind: 'Netperf', instead: NO_FIELD },
]

const BY_NAME = new Map(KINDS.map((row) => [`${row.group}/${row.kind}`, row]))

/** Returns the entry of a kind, or undefined if the kind is not listed. */
export function findKind(group: string, kind: string): Kind | undefined {
  return BY_NAME.get(`${group}/${kind}`)
}

/** Reports whether objects of a kind may create pods in a way that is not known. */
export function isUnknownKind(group: string, kind: string): boolean {
  return findKind(group, kind) === undefined && !isWithoutPods(group, kind)
}
