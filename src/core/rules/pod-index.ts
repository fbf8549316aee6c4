import { COMPLETION_INDEX_KEY, LEADER_WORKER_SET_KEY } from '../keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'

/**
 * The index or role of a pod in its workload, from the labels and annotations that the controller
 * of the pod sets when it creates the pod.
 */
export interface PodIndex {
  /**
   * The index in messages and reports: `3`, `worker-3`, `launcher`. It is unique in the workload
   * unless the number is missing.
   */
  readonly label: string
  /**
   * The names that select the pod: its roles, and indexes and groups with the name of a role, such
   * as `worker`, `worker-3`.
   */
  readonly names: readonly string[]
  /**
   * The number of the pod, from 0: in its workload or, if the operator numbers the pods of each
   * role or group separately, in its role or group. Undefined if the pod has none.
   */
  readonly number: number | undefined
  /**
   * The number of the pod's group, from 0, if each group numbers its pods from 0 and the labels do
   * not give the size of the groups; otherwise 0.
   */
  readonly group: number
  /** The labels that would give the number, if it is not known; empty for a pod without number. */
  readonly missing: readonly string[]
}

const JOBSET = 'jobset.sigs.k8s.io'
const REPLICATED_JOB_KEY = `${JOBSET}/replicatedjob-name`
const KUBEFLOW = 'training.kubeflow.org'
const POD_INDEX_KEY = 'apps.kubernetes.io/pod-index'
const ROLE_KEY = `${KUBEFLOW}/job-role`
const REPLICA_TYPE_KEY = `${KUBEFLOW}/replica-type`
const REPLICA_INDEX_KEY = `${KUBEFLOW}/replica-index`
const TASK_KEY = 'volcano.sh/task-spec'
const TASK_INDEX_KEY = 'volcano.sh/task-index'
const NODE_TYPE_KEY = 'ray.io/node-type'
const RAY_INDEX_KEY = 'ray.io/worker-group-replica-index'
const SET_KEYS = {
  name: LEADER_WORKER_SET_KEY,
  group: 'leaderworkerset.sigs.k8s.io/group-index',
  index: 'leaderworkerset.sigs.k8s.io/worker-index',
  size: 'leaderworkerset.sigs.k8s.io/size',
} as const
const CLIQUE_KEYS = {
  name: 'grove.io/podclique',
  index: 'grove.io/podclique-pod-index',
  set: 'app.kubernetes.io/part-of',
  setIndex: 'grove.io/podcliqueset-replica-index',
  group: 'grove.io/podcliquescalinggroup',
  groupIndex: 'grove.io/podcliquescalinggroup-replica-index',
} as const
const NODESET_INDEX_KEY = 'nodeset.slinky.slurm.net/pod-index'
const ELASTIC_TYPE_KEY = 'elasticjob.dlrover/replica-type'
const ELASTIC_INDEX_KEY = 'elasticjob.dlrover/rank-index'

/** The labels and annotations by which a pod with an index or a role is recognized. */
export const INDEX_KEYS: readonly string[] = [
  COMPLETION_INDEX_KEY,
  POD_INDEX_KEY,
  REPLICATED_JOB_KEY,
  ROLE_KEY,
  REPLICA_TYPE_KEY,
  SET_KEYS.name,
  TASK_KEY,
  NODE_TYPE_KEY,
  CLIQUE_KEYS.name,
  NODESET_INDEX_KEY,
  ELASTIC_TYPE_KEY,
]

/** The metadata of a pod, with its labels and annotations in one lookup. */
interface Marks {
  readonly metadata: Fields
  /** Returns the valid value of a label, or else of an annotation with the same key. */
  readonly find: (key: string) => string | undefined
  readonly findNumber: (key: string) => number | undefined
}

/**
 * The values that a label can have. The apiserver refuses a pod with another label, but only after
 * its webhooks.
 */
const LABEL_VALUE = /^[-A-Za-z0-9_.]{1,63}$/

/**
 * Reads the index of a pod. Labels of an operator take precedence over the labels of a StatefulSet
 * or an Indexed Job with which the operator creates its pods.
 *
 * @param metadata the metadata of a pod that may not have a name yet
 * @returns undefined if nothing shows an index or a role
 */
export function readPodIndex(metadata: Fields): PodIndex | undefined {
  const [labels, annotations] = [fieldsOrNone(metadata.labels), fieldsOrNone(metadata.annotations)]
  const find = (key: string) => textAt(labels, key) ?? textAt(annotations, key)
  const marks: Marks = { metadata, find, findNumber: (key) => readNumber(find(key)) }
  for (const read of READERS) {
    const podIndex = read(marks)
    if (podIndex !== undefined) return podIndex
  }
  return undefined
}

function textAt(fields: Fields, key: string): string | undefined {
  const text = Object.hasOwn(fields, key) ? asText(fields[key]) : undefined
  return text !== undefined && LABEL_VALUE.test(text) ? text : undefined
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** The readers in the order in which they are tried. */
const READERS: readonly ((marks: Marks) => PodIndex | undefined)[] = [
  jobSetIndex,
  kubeflowIndex,
  leaderWorkerSetIndex,
  volcanoIndex,
  rayIndex,
  cliqueIndex,
  elasticJobIndex,
  nodeSetIndex,
  statefulSetIndex,
  indexedJobIndex,
]

/**
 * A pod of a JobSet: its number is its completion index in its Job, and the group is the index of
 * the Job in its ReplicatedJob (jobset api/jobset/v1alpha2/jobset_types.go, JobIndexKey). No label
 * gives the number of pods of the Jobs, so the pod has no number in the JobSet.
 */
function jobSetIndex({ find, findNumber }: Marks): PodIndex | undefined {
  const role = find(REPLICATED_JOB_KEY)
  if (role === undefined) return undefined
  const [job, index] = [findNumber(`${JOBSET}/job-index`), findNumber(COMPLETION_INDEX_KEY)]
  return indexInRole(role, [job, index], [COMPLETION_INDEX_KEY])
}

/**
 * A pod of a job of Kubeflow: of the MPI Operator, which labels the role (mpi-operator
 * pkg/controller/mpi_job_controller.go, newWorker), or of the Training Operator, which labels the
 * type of the replica, and the role master (training-operator pkg/controller.v1/common/pod.go,
 * createNewPod). The pods of each role are numbered. The launcher of an MPIJob usually has no
 * number.
 */
function kubeflowIndex({ find, findNumber }: Marks): PodIndex | undefined {
  const [role, type] = [find(ROLE_KEY), find(REPLICA_TYPE_KEY)]
  const number = findNumber(REPLICA_INDEX_KEY)
  const name = role ?? type
  if (name === undefined) return number === undefined ? undefined : numberedIndex(number)
  const podIndex = indexInRole(name, [number], name === 'launcher' ? [] : [REPLICA_INDEX_KEY])
  return type === undefined || type === name
    ? podIndex
    : { ...podIndex, names: [...podIndex.names, type] }
}

/**
 * A pod of a LeaderWorkerSet (lws api/leaderworkerset/v1/leaderworkerset_types.go): the leader has
 * the index 0 in its group, and an annotation gives the size of the groups. The index is the number
 * in the whole set. The webhook of LeaderWorkerSet adds two of the labels, from the ordinals in the
 * names of the pods (lws pkg/webhooks/pod_webhook.go), possibly after this webhook.
 */
function leaderWorkerSetIndex({ metadata, find, findNumber }: Marks): PodIndex | undefined {
  if (find(SET_KEYS.name) === undefined) return undefined
  const ordinal = ordinalOf(metadata)
  const index = findNumber(SET_KEYS.index) ?? ordinal
  if (index === undefined) return undefined
  // Of a leader, the ordinal is the number of the group. Of a worker, it is the index.
  const group = findNumber(SET_KEYS.group) ?? (index === 0 ? ordinal : undefined)
  const role = index === 0 ? 'leader' : 'worker'
  const number = numberIn(group, findNumber(SET_KEYS.size), index)
  return number === undefined
    ? indexInRole(role, [undefined], [SET_KEYS.group, SET_KEYS.index, SET_KEYS.size])
    : { ...numberedIndex(number), names: [role] }
}

/** Returns the number of a pod in groups of the same size; undefined if it is not known. */
function numberIn(
  group: number | undefined,
  size: number | undefined,
  index: number,
): number | undefined {
  if (group === undefined || size === undefined || index >= size) return undefined
  const number = group * size + index
  return Number.isSafeInteger(number) ? number : undefined
}

/**
 * A pod of a Volcano Job (volcano pkg/controllers/job/job_controller_util.go, createJobPod): each
 * task numbers its pods. Versions without a label for the number only put it into the name of the
 * pod, JOB-TASK-NUMBER.
 */
function volcanoIndex({ metadata, find, findNumber }: Marks): PodIndex | undefined {
  const [job, task] = [find('volcano.sh/job-name'), find(TASK_KEY)]
  if (task === undefined) return undefined
  const number = findNumber(TASK_INDEX_KEY) ?? endOf(metadata, `${job}-${task}-`)
  return indexInRole(task, [number], [TASK_INDEX_KEY])
}

/**
 * A pod of a RayCluster (kuberay ray-operator/controllers/ray/utils/constant.go). The worker groups
 * number their replicas, and the hosts of a replica, if KubeRay has the feature
 * RayMultiHostIndexing. The head has no number.
 */
function rayIndex({ find, findNumber }: Marks): PodIndex | undefined {
  const [type, groupName] = [find(NODE_TYPE_KEY), find('ray.io/group')]
  if (type === undefined) return undefined
  if (type === 'head') return indexInRole(type, [], [])
  const replica = findNumber(RAY_INDEX_KEY)
  const host = findNumber('ray.io/replica-host-index')
  const numbers = host === undefined ? [replica] : [replica, host]
  const podIndex = indexInRole(groupName ?? type, numbers, [RAY_INDEX_KEY])
  return { ...podIndex, names: [...new Set([type, ...podIndex.names])] }
}

/**
 * A pod of a PodClique of Grove (grove fcc3b3bb operator/internal/controller/podclique/components/
 * pod/pod.go, getLabels): each clique numbers its pods. The name of a clique is that of its role,
 * after the name and the index of its set or its scaling group (operator/api/common/namegen.go,
 * GeneratePodCliqueName).
 */
function cliqueIndex({ find, findNumber }: Marks): PodIndex | undefined {
  const name = find(CLIQUE_KEYS.name)
  if (name === undefined) return undefined
  const { set, setIndex, group, groupIndex } = CLIQUE_KEYS
  const prefixes = [`${find(group)}-${find(groupIndex)}-`, `${find(set)}-${find(setIndex)}-`]
  const prefix = prefixes.find((one) => name.startsWith(one) && name.length > one.length) ?? ''
  const replicas = [setIndex, groupIndex].flatMap((key) => findNumber(key) ?? [])
  const numbers = [...replicas, findNumber(CLIQUE_KEYS.index)]
  return indexInRole(name.slice(prefix.length), numbers, [CLIQUE_KEYS.index])
}

/**
 * A pod of an ElasticJob of DLRover (dlrover 7c3e9648 dlrover/python/master/scaler/pod_scaler.py):
 * each type of replica has rank indexes, which a pod that replaces another pod takes over.
 */
function elasticJobIndex({ find, findNumber }: Marks): PodIndex | undefined {
  const type = find(ELASTIC_TYPE_KEY)
  if (type === undefined) return undefined
  return indexInRole(type, [findNumber(ELASTIC_INDEX_KEY)], [ELASTIC_INDEX_KEY])
}

/**
 * A pod of a NodeSet of Slinky: its ordinal, with leading zeros (slurm-operator f2ed3fc5
 * internal/controller/nodeset/utils/utils.go, UpdateIdentity).
 */
function nodeSetIndex({ findNumber }: Marks): PodIndex | undefined {
  const number = findNumber(NODESET_INDEX_KEY)
  return number === undefined ? undefined : numberedIndex(number)
}

/**
 * A pod of a StatefulSet: its ordinal, from the label (kubernetes v1.36
 * pkg/controller/statefulset/stateful_set_utils.go, updateIdentity) or the name of the pod.
 */
function statefulSetIndex({ metadata, findNumber }: Marks): PodIndex | undefined {
  const number = findNumber(POD_INDEX_KEY) ?? ordinalOf(metadata)
  return number === undefined ? undefined : numberedIndex(number)
}

/**
 * A pod of an Indexed Job: its completion index (kubernetes v1.36
 * pkg/controller/job/indexed_job_utils.go, addCompletionIndexAnnotation and
 * addCompletionIndexLabel).
 */
function indexedJobIndex({ findNumber }: Marks): PodIndex | undefined {
  const number = findNumber(COMPLETION_INDEX_KEY)
  return number === undefined ? undefined : numberedIndex(number)
}

function numberedIndex(number: number): PodIndex {
  return { label: String(number), names: [], number, group: 0, missing: [] }
}

/**
 * Returns the index of a pod whose number is unique only in its role, or in a group of its role.
 *
 * @param numbers the number of the pod, preceded by the number of its group if there are groups
 * @param keys the labels that give the number
 */
function indexInRole(
  role: string,
  numbers: readonly (number | undefined)[],
  keys: readonly string[],
): PodIndex {
  const number = numbers.at(-1)
  const group = numbers.length > 1 ? (numbers[0] ?? 0) : 0
  const parts = numbers.filter((part) => part !== undefined)
  const names = [role, ...parts.map((_, end) => [role, ...parts.slice(0, end + 1)].join('-'))]
  const label = names.at(-1) ?? role
  return { label, names, number, group, missing: number === undefined ? keys : [] }
}

/** Returns the ordinal in the name of a pod whose controller is a StatefulSet. */
function ordinalOf(metadata: Fields): number | undefined {
  const owners = listOrNone(metadata.ownerReferences).map(fieldsOrNone)
  const owner = owners.find(({ controller }) => controller === true)
  return owner?.kind === 'StatefulSet' ? endOf(metadata, `${asText(owner.name)}-`) : undefined
}

/** Returns the number that follows a prefix in the name of a pod. */
function endOf({ name }: Fields, prefix: string): number | undefined {
  const text = asText(name)
  return text?.startsWith(prefix) ? readNumber(text.slice(prefix.length)) : undefined
}
