import { asFields, asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import type { Owner } from '../core/kubernetes/pod.ts'
import type { Step } from './nodes.ts'
import { type Template, valueAt } from './templates.ts'

/** What a controller adds to the pods that it makes of a template, as far as an answer depends on it. */
export interface Made {
  /** The controller of the pods; undefined where its name is not known before it is there. */
  readonly owner: Owner | undefined
  readonly restartPolicy: unknown
  /** Whether the Job controller gives each pod its completion index. */
  readonly isIndexed: boolean
  readonly labels: Fields
}

/** What is made of a template. What nobody knows of its kind is left as the template has it. */
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
    labels: resource.group === 'batch.volcano.sh' ? { 'volcano.sh/job-name': name } : {},
  }
}

interface Making extends Template {
  readonly parent: Fields
}

/** Who will be the controller of the pods, by the kind that the template is in. */
const MAKERS: Readonly<Record<string, (template: Making) => Owner | undefined>> = {
  '/ReplicationController': itself,
  'apps/StatefulSet': itself,
  'apps/DaemonSet': itself,
  'apps/ReplicaSet': itself,
  'batch/Job': itself,
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

/** jobset pkg/util/placement: a Job is JOBSET-REPLICATEDJOB-INDEX; with several, the index is open. */
function jobOfJobSet({ resource, path }: Template): Owner | undefined {
  const replicated = fieldsOrNone(valueAt(resource.fields, path.slice(resource.path.length, -3)))
  const job = asText(replicated.name)
  const isOne = (replicated.replicas ?? 1) === 1
  return isOne && job !== undefined ? { kind: 'Job', name: `${resource.name}-${job}-0` } : undefined
}

/** mpi-operator v2beta1: the launcher is of a Job, workers are the MPIJob's own. */
function mpi(template: Template): Owner {
  const isLauncher =
    template.path.at(-2) === 'Launcher' &&
    template.resource.fields.apiVersion === 'kubeflow.org/v2beta1'
  const { kind, name } = itself(template)
  return isLauncher ? { kind: 'Job', name: `${name}-launcher` } : { kind, name }
}

/** Kubeflow's say it beside the template, and write that into it: ExitCode means Never. */
function findRestartPolicy({ fields, path }: Template, parent: Fields): unknown {
  const beside = isReplicas(path)
    ? (parent.restartPolicy ?? REPLICAS_DEFAULT[String(path.at(-2))])
    : undefined
  const own = fieldsOrNone(fields.spec).restartPolicy
  if (beside === 'ExitCode') return 'Never'
  return beside ?? own ?? (isJobSet(path) ? 'OnFailure' : undefined)
}

/** mpi-operator pkg/apis/kubeflow/v2beta1/default.go. */
const REPLICAS_DEFAULT: Readonly<Record<string, string>> = {
  Launcher: 'OnFailure',
  Worker: 'Never',
}

function isReplicas(path: readonly Step[]): boolean {
  return String(path.at(-3)).endsWith('ReplicaSpecs')
}

function isJobSet(path: readonly Step[]): boolean {
  return path.at(-5) === 'replicatedJobs'
}

/** JobSet's own webhook makes Jobs Indexed that do not say (jobset pkg/webhooks/jobset_webhook.go). */
function isIndexed({ path }: Template, parent: Fields): boolean {
  return (parent.completionMode ?? (isJobSet(path) ? 'Indexed' : undefined)) === 'Indexed'
}

function findParent({ resource, path }: Template): Fields {
  const inside = path.slice(resource.path.length, -1)
  return asFields(valueAt(resource.fields, inside)) ?? {}
}
