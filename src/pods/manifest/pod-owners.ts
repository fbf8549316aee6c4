import { LEADER_WORKER_SET_KEY, MODEL_SERVING_KEY } from '../../core/keys.ts'
import { asFields, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Owner } from '../../core/kubernetes/pod.ts'
import { valueAt } from './kinds/paths.ts'
import type { Template } from './templates.ts'
import type { Step } from './yaml/nodes.ts'

/**
 * The fields that a controller sets in the pods of a template, limited to the fields that affect
 * the decision about the pods or their observers.
 */
export interface Made {
  /**
   * The controller of the pods; undefined if the kind is unknown, or if the name of the controller
   * is known only after it has been created.
   */
  readonly owner: Owner | undefined
  readonly restartPolicy: unknown
  /** Whether the Job controller sets the completion index of each pod. */
  readonly isIndexed: boolean
  readonly labels: Fields
}

/**
 * Returns the fields that a controller sets in the pods of a template. For unknown kinds, the
 * values of the template apply.
 */
export function describePods(template: Template): Made {
  const { resource } = template
  const parent = findParent(template)
  const { kind, name } = resource
  const make = MAKERS[`${resource.group}/${kind}`]
  const owner = name === '' ? undefined : make?.({ ...template, parent })
  return {
    owner,
    restartPolicy: findRestartPolicy(template, parent),
    isIndexed: isIndexed(template, parent),
    labels: {
      ...labelWithName(resource),
      ...labelsOfMpiJob(template),
      ...labelsOfJobSet(template),
    },
  }
}

/** The labels with the name of an object that creates pods, by group. */
const NAME_LABELS: Readonly<Record<string, string>> = {
  'batch.volcano.sh': 'volcano.sh/job-name',
  'flow.volcano.sh': 'volcano.sh/job-name',
  'leaderworkerset.x-k8s.io': LEADER_WORKER_SET_KEY,
  // A DisaggregatedSet creates LeaderWorkerSets, whose names begin with its name.
  'disaggregatedset.x-k8s.io': LEADER_WORKER_SET_KEY,
  'workload.serving.volcano.sh': MODEL_SERVING_KEY,
}

function labelWithName({ group, name }: Template['resource']): Fields {
  const label = NAME_LABELS[group]
  return label === undefined ? {} : { [label]: name }
}

interface Making extends Template {
  readonly parent: Fields
}

/**
 * The functions that return the controller of the pods, by group and kind of the object that
 * contains the template.
 */
const MAKERS: Readonly<Record<string, (template: Making) => Owner | undefined>> = {
  '/ReplicationController': itself,
  'apps/StatefulSet': itself,
  'apps/DaemonSet': itself,
  'apps/ReplicaSet': itself,
  'batch/Job': itself,
  'flux-framework.org/MiniCluster': jobOfMiniCluster,
  'batch.volcano.sh/Job': itself,
  'jobset.x-k8s.io/JobSet': jobOfJobSet,
  'kubeflow.org/MPIJob': mpi,
  'kubeflow.org/PyTorchJob': itself,
  'kubeflow.org/TFJob': itself,
  'kubeflow.org/XGBoostJob': itself,
  'kubeflow.org/PaddleJob': itself,
  'kubeflow.org/JAXJob': itself,
  'ray.io/RayCluster': itself,
}

function itself({ resource: { kind, name } }: Template): Owner {
  return { kind, name }
}

/** Returns the Job of a MiniCluster, which has its name (flux-operator controllers/flux/job.go). */
function jobOfMiniCluster({ resource: { name } }: Template): Owner {
  return { kind: 'Job', name }
}

/**
 * Returns the Job of a JobSet, which is named JOBSET-REPLICATEDJOB-INDEX (jobset
 * pkg/util/placement). The result is undefined if there are several replicas, because the index is
 * then unknown.
 */
function jobOfJobSet(template: Template): Owner | undefined {
  const { resource } = template
  const replicated = replicatedJob(template)
  const job = asText(replicated.name)
  const isOne = (replicated.replicas ?? 1) === 1
  return isOne && job !== undefined ? { kind: 'Job', name: `${resource.name}-${job}-0` } : undefined
}

/**
 * Returns the controller of an MPIJob's pods. In mpi-operator v2beta1, a Job creates the launcher,
 * and the MPIJob creates the workers.
 */
function mpi(template: Template): Owner {
  const isLauncher = template.path.at(-2) === 'Launcher' && isOfMpiOperator(template)
  const { kind, name } = itself(template)
  return isLauncher ? { kind: 'Job', name: `${name}-launcher` } : { kind, name }
}

/** Reports whether a template is of an MPIJob of the MPI Operator, not of the Training Operator. */
function isOfMpiOperator({ resource: { kind, fields } }: Template): boolean {
  return kind === 'MPIJob' && fields.apiVersion === 'kubeflow.org/v2beta1'
}

/**
 * Returns the labels that the MPI Operator gives the pods of an MPIJob (mpi-operator
 * pkg/controller/mpi_job_controller.go, defaultLabels).
 */
function labelsOfMpiJob(template: Template): Fields {
  const role = template.path.at(-2)
  if (!isOfMpiOperator(template) || typeof role !== 'string') return {}
  return {
    'training.kubeflow.org/operator-name': 'mpi-operator',
    'training.kubeflow.org/job-role': role.toLowerCase(),
  }
}

/** Returns the label that JobSet gives the pods of a replicated job. */
function labelsOfJobSet(template: Template): Fields {
  if (!isJobSet(template.path)) return {}
  return { 'jobset.sigs.k8s.io/replicatedjob-name': replicatedJob(template).name }
}

function replicatedJob({ resource, path }: Template): Fields {
  return fieldsOrNone(valueAt(resource.fields, path.slice(resource.path.length, -3)))
}

/**
 * Returns the restart policy of the pods. Kubeflow kinds set the policy next to the template, and
 * ExitCode becomes Never. The default for a JobSet is OnFailure.
 */
function findRestartPolicy(template: Template, parent: Fields): unknown {
  const { fields, path } = template
  const declared = fieldsOrNone(fields.spec).restartPolicy
  const beside = isReplicas(path) ? (parent.restartPolicy ?? kubeflowDefault(template)) : undefined
  if (beside === 'ExitCode') return 'Never'
  return beside ?? declared ?? (isJobSet(path) ? 'OnFailure' : undefined)
}

/**
 * The restart policies that the training operator sets by default, by kind (training-operator
 * pkg/apis/kubeflow.org/v1, the constants *JobDefaultRestartPolicy).
 */
const KUBEFLOW_DEFAULT: Readonly<Record<string, string>> = {
  JAXJob: 'Never',
  MPIJob: 'Never',
  PaddleJob: 'OnFailure',
  PyTorchJob: 'OnFailure',
  TFJob: 'Never',
  XGBoostJob: 'Never',
}

/**
 * Returns the restart policy that an operator sets in a Kubeflow job without one. In v2beta1, whose
 * only kind is MPIJob, the default depends on the replica (mpi-operator
 * pkg/apis/kubeflow/v2beta1/default.go).
 */
function kubeflowDefault({ resource: { kind, fields }, path }: Template): string | undefined {
  if (fields.apiVersion !== 'kubeflow.org/v2beta1') return KUBEFLOW_DEFAULT[kind]
  return path.at(-2) === 'Launcher' ? 'OnFailure' : 'Never'
}

function isReplicas(path: readonly Step[]): boolean {
  return String(path.at(-3)).endsWith('ReplicaSpecs')
}

function isJobSet(path: readonly Step[]): boolean {
  return path.at(-5) === 'replicatedJobs'
}

/**
 * Reports whether the pods belong to an Indexed Job. JobSet's webhook sets Indexed for Jobs without
 * a completion mode (jobset pkg/webhooks/jobset_webhook.go).
 */
function isIndexed({ path }: Template, parent: Fields): boolean {
  return (parent.completionMode ?? (isJobSet(path) ? 'Indexed' : undefined)) === 'Indexed'
}

function findParent({ resource, path }: Template): Fields {
  const inside = path.slice(resource.path.length, -1)
  return asFields(valueAt(resource.fields, inside)) ?? {}
}
