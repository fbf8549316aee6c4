import { recorded } from '../../../cases/read.ts'
import { CATALOG } from './pod.ts'

// A namespace with the recorded pods of several operators, and the controllers between the pods and
// their workloads. Where no recording of an operator exists, a recorded pod gets the labels and the
// controller that the source of the operator sets.

/** The UID of an object with this number. */
const uid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

function owner(apiVersion: string, kind: string, name: string, number: number): Owner {
  return { apiVersion, kind, name, uid: uid(number) }
}

function references(controller: Owner | undefined): object {
  return controller === undefined ? {} : { ownerReferences: [{ ...controller, controller: true }] }
}

let pods = 0

/**
 * Returns a recorded pod after its creation, with an observer.
 *
 * @param labels the labels of another operator; the default is those of the recording
 * @param controller the default is that of the recording
 */
function podOf(name: string, recording: string, labels?: object, controller?: Owner): object {
  const { metadata, spec } = JSON.parse(recorded(recording)).request.object
  const { image, command } = CATALOG.metrics.get('perf-sysstat')?.container ?? {}
  const observer = { name: 'perf-sysstat', image, command, restartPolicy: 'Always' }
  const status = { outcome: 'injected', metrics: ['perf-sysstat'], catalog: CATALOG.revision }
  pods += 1
  return {
    metadata: {
      ...metadata,
      name,
      namespace: 'hpc',
      uid: uid(9000 + pods),
      labels: labels ?? metadata.labels,
      annotations: { ...metadata.annotations, 'ridealong.dev/status': JSON.stringify(status) },
      ...references(controller),
    },
    spec: { ...spec, nodeName: 'node-1', initContainers: [observer] },
    status: {
      phase: 'Succeeded',
      initContainerStatuses: [{ name: 'perf-sysstat', state: { terminated: { exitCode: 0 } } }],
    },
  }
}

const CLUSTER = owner('ray.io/v1', 'RayCluster', 'tune-x7k2p', 1)
const SUBMITTER = owner('batch/v1', 'Job', 'tune', 2)
const VOLCANO = owner('batch.volcano.sh/v1alpha1', 'Job', 'mpi', 3)
const LEADERS = owner('apps/v1', 'StatefulSet', 'serve', 4)
const LEADER_POD = owner('v1', 'Pod', 'serve-0', 5)
const WORKERS = owner('apps/v1', 'StatefulSet', 'serve-0', 6)
const TRAIN_JOB = owner('batch/v1', 'Job', 'bert-node-0', 7)
const TRAIN_SET = owner('jobset.x-k8s.io/v1alpha2', 'JobSet', 'bert', 8)
const WORKFLOW = owner('argoproj.io/v1alpha1', 'Workflow', 'steps', 9)
const SPARK = owner('sparkoperator.k8s.io/v1beta2', 'SparkApplication', 'etl', 10)
const DRIVER = owner('v1', 'Pod', 'etl-driver', 11)
const OTHER = owner('batch/v1', 'Job', 'unrelated', 12)

const RAY = { 'ray.io/is-ray-node': 'yes', 'ray.io/cluster': 'tune-x7k2p' }
const SET = { 'leaderworkerset.sigs.k8s.io/name': 'serve', 'leaderworkerset.sigs.k8s.io/size': '2' }
const TASK = { 'volcano.sh/job-name': 'mpi', 'volcano.sh/task-spec': 'worker' }
const APP = { 'sparkoperator.k8s.io/app-name': 'etl' }

/** The pods of the namespace hpc. */
export const PODS: readonly object[] = [
  podOf('tune-head', 'mpijob-worker', { ...RAY, 'ray.io/node-type': 'head' }, CLUSTER),
  podOf('tune-worker', 'mpijob-worker', { ...RAY, 'ray.io/node-type': 'worker' }, CLUSTER),
  podOf('tune-submitter', 'mpijob-launcher', { 'job-name': 'tune' }, SUBMITTER),
  podOf('mpi-worker-0', 'mpijob-worker', { ...TASK, 'volcano.sh/task-index': '0' }, VOLCANO),
  podOf('mpi-worker-1', 'mpijob-worker', { ...TASK, 'volcano.sh/task-index': '1' }, VOLCANO),
  podOf('serve-0', 'statefulset-with-native-sidecar', SET, LEADERS),
  podOf('serve-0-1', 'statefulset-with-native-sidecar', SET, WORKERS),
  podOf('bert-node-0-0', 'jobset-worker', undefined, TRAIN_JOB),
  podOf('steps-1', 'mpijob-worker', {}, WORKFLOW),
  podOf('etl-driver', 'mpijob-worker', { ...APP, 'spark-role': 'driver' }, SPARK),
  podOf('etl-exec-1', 'mpijob-worker', { ...APP, 'spark-role': 'executor' }, DRIVER),
  podOf('web-1', 'deployment-namespace-annotated'),
  podOf('db-0', 'statefulset-with-native-sidecar'),
  podOf('cron-1', 'cronjob'),
  podOf('unrelated-1', 'job-indexed', {}, OTHER),
  podOf('alone', 'pod-guaranteed'),
]

/** Returns the pods that a label selector KEY=VALUE selects, or all pods. */
export function selectPods(query: URLSearchParams): readonly object[] {
  const selector = query.get('labelSelector')
  if (selector === null) return PODS
  const [key = '', value] = selector.split('=')
  return PODS.filter((pod) => Object(pod).metadata.labels?.[key] === value)
}

function listOf(...objects: readonly (readonly [Owner, Owner?])[]): object {
  const items = objects.map(([{ name, uid }, controller]) => ({
    metadata: { name, namespace: 'hpc', uid, ...references(controller) },
  }))
  return { kind: 'PartialObjectMetadataList', metadata: {}, items }
}

function resources(...kinds: readonly (readonly [string, string])[]): object {
  const listed = kinds.map(([name, kind]) => ({ name, kind, namespaced: true }))
  return { kind: 'APIResourceList', resources: listed }
}

/** Returns the controller of a recorded pod. */
function recordedOwner(recording: string): Owner {
  return JSON.parse(recorded(recording)).request.object.metadata.ownerReferences[0]
}

const ARGO = { groupVersion: 'argoproj.io/v1alpha1' }

/** Discovery, and the lists of controllers in the namespace hpc. */
export const CONTROLLERS: Readonly<Record<string, object>> = {
  '/api/v1': resources(['pods', 'Pod']),
  '/apis/apps/v1': resources(['replicasets', 'ReplicaSet'], ['statefulsets', 'StatefulSet']),
  '/apis/batch/v1': resources(['jobs', 'Job'], ['cronjobs', 'CronJob']),
  '/apis/batch.volcano.sh/v1alpha1': resources(['jobs', 'Job']),
  '/apis/jobset.x-k8s.io/v1alpha2': resources(['jobsets', 'JobSet']),
  '/apis/ray.io/v1': resources(['rayclusters', 'RayCluster'], ['rayjobs', 'RayJob']),
  '/apis/sparkoperator.k8s.io/v1beta2': resources(['sparkapplications', 'SparkApplication']),
  '/apis/argoproj.io': { preferredVersion: ARGO, versions: [ARGO] },
  '/apis/argoproj.io/v1alpha1': resources(['workflows', 'Workflow']),
  '/apis/apps/v1/namespaces/hpc/replicasets': listOf([
    recordedOwner('deployment-namespace-annotated'),
    owner('apps/v1', 'Deployment', 'web', 20),
  ]),
  '/apis/batch/v1/namespaces/hpc/jobs': listOf(
    [SUBMITTER, owner('ray.io/v1', 'RayJob', 'tune', 21)],
    [TRAIN_JOB, TRAIN_SET],
    [recordedOwner('cronjob'), owner('batch/v1', 'CronJob', 'cron', 22)],
    [OTHER],
  ),
  '/apis/jobset.x-k8s.io/v1alpha2/namespaces/hpc/jobsets': listOf([
    TRAIN_SET,
    owner('trainer.kubeflow.org/v1alpha1', 'TrainJob', 'bert', 23),
  ]),
  '/apis/ray.io/v1/namespaces/hpc/rayclusters': listOf([
    CLUSTER,
    owner('ray.io/v1', 'RayJob', 'tune', 21),
  ]),
  '/apis/apps/v1/namespaces/hpc/statefulsets': listOf(
    [LEADERS, owner('leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet', 'serve', 24)],
    [WORKERS, LEADER_POD],
    [recordedOwner('statefulset-with-native-sidecar')],
  ),
  '/apis/batch.volcano.sh/v1alpha1/namespaces/hpc/jobs': listOf([VOLCANO]),
  '/apis/sparkoperator.k8s.io/v1beta2/namespaces/hpc/sparkapplications': listOf([SPARK]),
  '/apis/argoproj.io/v1alpha1/namespaces/hpc/workflows': listOf([WORKFLOW]),
}
