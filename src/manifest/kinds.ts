/** What is known of a kind whose objects end up as pods. */
export interface Kind {
  /** Its API group, whatever the version; empty for Kubernetes's first. */
  readonly group: string
  readonly kind: string
  /**
   * Where its pod templates are: steps from the root of the object with dots between them, `*` for each item
   * of a list or map; empty where the object is a pod itself.
   */
  readonly templates?: readonly string[]
  /** Where its operator copies its pods' annotations from, if it is no template. */
  readonly annotations?: readonly string[]
  /** Why neither is there, and what to do instead. */
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
  'no observer can ride in its pods: Argo Workflows signals process 1, which in a shared process namespace is the pod'

/** By group and kind. Where a kind's types are is its operator's source, api/ or pkg/apis/. */
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
    instead: 'its pods are made of its TrainingRuntime; give that, or annotate the namespace',
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
  // pkg/pod of Tekton copies all of a TaskRun's annotations, which has a PipelineRun's, to its pod.
  { group: 'tekton.dev', kind: 'TaskRun', annotations: ['metadata.annotations'] },
  { group: 'tekton.dev', kind: 'PipelineRun', annotations: ['metadata.annotations'] },
  // Knative refuses a template that shares its process namespace, but not pods that came to it later.
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

/** The row of a kind; nothing for one that is not listed. */
export function findKind(group: string, kind: string): Kind | undefined {
  return BY_NAME.get(`${group}/${kind}`)
}

/** Whether a group is one that Kubernetes brings, whose kinds are all known: those not listed make no pods. */
export function isBuiltIn(group: string): boolean {
  const end = '.k8s.io'
  return (
    !group.includes('.') ||
    (group.endsWith(end) && !group.endsWith('.x-k8s.io') && group !== 'sparkoperator.k8s.io')
  )
}
