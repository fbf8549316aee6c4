/** A kind whose objects create pods, or have annotations that apply to pods. */
export interface Kind {
  /** The API group without the version; empty for the core group of Kubernetes. */
  readonly group: string
  readonly kind: string
  /**
   * The paths of the kind's pod templates. A path consists of steps from the root of the object,
   * separated by dots, with `*` for each item of a list or map. The path is empty if the object is
   * a pod itself.
   */
  readonly templates?: readonly string[]
  /**
   * The paths of the annotations that the kind's operator copies to pods, other than the
   * annotations of templates.
   */
  readonly annotations?: readonly string[]
  /** The reason why the kind has neither `templates` nor `annotations`, with advice. */
  readonly instead?: string
}

const OF_REPLICAS = '.*.template'
const OF_JOBSET = 'spec.replicatedJobs.*.template.spec.template'

function rayCluster(at: string): readonly string[] {
  return [`${at}.headGroupSpec.template`, `${at}.workerGroupSpecs.*.template`]
}

function spark(at: string): readonly string[] {
  return [`${at}.driver.annotations`, `${at}.executor.annotations`]
}

const NO_FIELD = 'its operator copies no annotations to its pods; annotate the namespace'

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
    instead: 'its pods come from its TrainingRuntime; annotate that, or annotate the namespace',
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

/**
 * Reports whether a group belongs to Kubernetes itself. Kinds of such a group create no pods unless
 * `KINDS` lists them.
 */
export function isBuiltIn(group: string): boolean {
  const end = '.k8s.io'
  return (
    !group.includes('.') ||
    (group.endsWith(end) && !group.endsWith('.x-k8s.io') && group !== 'sparkoperator.k8s.io')
  )
}
