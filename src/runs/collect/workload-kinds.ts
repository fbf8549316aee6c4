/** A kind of workload that can be named without its API group. */
export interface KnownKind {
  /** The name of the kind in a command line and in messages. */
  readonly word: string
  /** Other names of the kind, apart from the plural of `word`. */
  readonly aliases?: readonly string[]
  readonly group: string
  readonly kind: string
  /** How the pods of a workload are found: by a label, or by the controllers of the pods. */
  readonly pods:
    | { readonly label: string }
    /** The kinds between the pods and the workload, as GROUP/KIND. */
    | { readonly through: readonly string[] }
}

const BATCH_JOB = 'batch/Job'
const JOBSET = 'jobset.x-k8s.io/JobSet'
const RAY_CLUSTER = 'ray.io/RayCluster'
const KUBEFLOW = { group: 'kubeflow.org', pods: { label: 'training.kubeflow.org/job-name' } }

/** The controller of the pods is the workload itself. */
const DIRECT = { through: [] }

/**
 * The kinds that can be named without their group. `job` is the Job of Kubernetes; the Job of
 * Volcano is `vcjob`, its short name in kubectl.
 *
 * A label identifies the pods if the controller of the kind sets it on each of them:
 * - Job: kubernetes pkg/apis/batch/types.go, JobNameLabel
 * - Flux MiniCluster: the old label of its Job, which has the same name as the MiniCluster; the
 *   services pod of the MiniCluster has only this label
 * - JobSet: api/jobset/v1alpha2, JobSetNameKey
 * - MPIJob and Kubeflow Training: kubeflow/common, JobNameLabel
 * - RayCluster: kuberay ray-operator/controllers/ray/utils/constant.go, RayClusterLabelKey. The
 *   pods do not have the labels of a RayJob or RayService, which creates a RayCluster
 * - Volcano Job: volcano.sh/apis pkg/apis/batch/v1alpha1/labels.go, JobNameKey
 * - LeaderWorkerSet: lws api/leaderworkerset/v1/leaderworkerset_types.go, SetNameLabelKey
 * - SparkApplication: kubeflow/spark-operator pkg/common/spark.go, LabelSparkAppName
 */
const KNOWN_KINDS: readonly KnownKind[] = [
  {
    word: 'job',
    group: 'batch',
    kind: 'Job',
    pods: { label: 'batch.kubernetes.io/job-name' },
  },
  {
    word: 'minicluster',
    group: 'flux-framework.org',
    kind: 'MiniCluster',
    pods: { label: 'job-name' },
  },
  {
    word: 'jobset',
    group: 'jobset.x-k8s.io',
    kind: 'JobSet',
    pods: { label: 'jobset.sigs.k8s.io/jobset-name' },
  },
  { word: 'mpijob', kind: 'MPIJob', ...KUBEFLOW },
  { word: 'pytorchjob', kind: 'PyTorchJob', ...KUBEFLOW },
  {
    word: 'trainjob',
    group: 'trainer.kubeflow.org',
    kind: 'TrainJob',
    pods: { through: [BATCH_JOB, JOBSET] },
  },
  {
    word: 'raycluster',
    group: 'ray.io',
    kind: 'RayCluster',
    pods: { label: 'ray.io/cluster' },
  },
  {
    word: 'rayjob',
    group: 'ray.io',
    kind: 'RayJob',
    pods: { through: [RAY_CLUSTER, BATCH_JOB] },
  },
  { word: 'rayservice', group: 'ray.io', kind: 'RayService', pods: { through: [RAY_CLUSTER] } },
  {
    word: 'vcjob',
    aliases: ['vj'],
    group: 'batch.volcano.sh',
    kind: 'Job',
    pods: { label: 'volcano.sh/job-name' },
  },
  {
    word: 'leaderworkerset',
    aliases: ['lws'],
    group: 'leaderworkerset.x-k8s.io',
    kind: 'LeaderWorkerSet',
    pods: { label: 'leaderworkerset.sigs.k8s.io/name' },
  },
  {
    word: 'sparkapplication',
    aliases: ['sparkapp'],
    group: 'sparkoperator.k8s.io',
    kind: 'SparkApplication',
    pods: { label: 'sparkoperator.k8s.io/app-name' },
  },
  {
    word: 'deployment',
    aliases: ['deploy'],
    group: 'apps',
    kind: 'Deployment',
    pods: { through: ['apps/ReplicaSet'] },
  },
  { word: 'statefulset', aliases: ['sts'], group: 'apps', kind: 'StatefulSet', pods: DIRECT },
  { word: 'daemonset', aliases: ['ds'], group: 'apps', kind: 'DaemonSet', pods: DIRECT },
  {
    word: 'cronjob',
    aliases: ['cj'],
    group: 'batch',
    kind: 'CronJob',
    pods: { through: [BATCH_JOB] },
  },
]

/** The names in the argument KIND/NAME that need no API group. */
export const KIND_WORDS: readonly string[] = ['pod', ...KNOWN_KINDS.map(({ word }) => word)]

/** Finds a kind by its name in manifests, such as `MiniCluster`, and its API group. */
export function findKindOfGroup(group: string, kind: string): KnownKind | undefined {
  return KNOWN_KINDS.find((known) => known.group === group && known.kind === kind)
}

/**
 * Finds a kind by one of its names in lower case, singular or plural.
 *
 * @param group the API group; empty if none was written
 */
export function findKnownKind(name: string, group: string): KnownKind | undefined {
  return KNOWN_KINDS.find((known) => {
    const { word, aliases = [], kind } = known
    if (group !== '' && group !== known.group) return false
    // Without its group, the name of Volcano's Job is the name of another kind.
    const names = group === '' ? [word] : [word, kind.toLowerCase()]
    return aliases.includes(name) || names.some((one) => name === one || name === `${one}s`)
  })
}
