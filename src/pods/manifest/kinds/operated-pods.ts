import { asObjects, asText, type Fields, fieldsOrNone } from '../../../core/kubernetes/json.ts'
import type { ManifestResource } from '../resources.ts'
import type { Template } from '../templates.ts'
import type { Step } from '../yaml/nodes.ts'
import { valueAt } from './paths.ts'
import { type AnnotationPlace, findOperatorPlaces, readPlace } from './places.ts'
import { findKind } from './table.ts'

/** A pod that an operator builds from an object without a pod template, as far as it is known. */
export interface OperatedPod extends Template {
  /** The role of the pod, or the field with its annotations. */
  readonly role: string
  /** The number of pods like this one; undefined if it is unknown. */
  readonly pods: number | undefined
  /** Whether all containers are known. */
  readonly isWhole: boolean
}

/** The parts of a pod that follow from an object. */
interface Build {
  readonly spec: Fields
  readonly pods?: unknown
  readonly isWhole?: boolean
  readonly labels?: Fields
}

/**
 * Returns the pods that the operator of an object without a pod template builds. Returns an empty
 * list for objects that create no pods, and for unknown kinds.
 */
export function findOperatedPods(resource: ManifestResource): readonly OperatedPod[] {
  const row = findKind(resource.group, resource.kind)
  if (row === undefined || row.isServed === false) return []
  if (resource.kind === 'Namespace' || row.wraps !== undefined) return []
  const places = findOperatorPlaces(resource)
  const isWithoutPlace = row.instead !== undefined || row.patches !== undefined
  if (places.length === 0) return isWithoutPlace ? [buildPod(resource, undefined)] : []
  return places.map((place) => buildPod(resource, place))
}

function buildPod(resource: ManifestResource, place: AnnotationPlace | undefined): OperatedPod {
  const inside = place?.path.slice(resource.path.length) ?? ['spec']
  const build = BUILDERS[`${resource.group}/${resource.kind}`]?.({ resource, inside, place })
  const { spec, pods, isWhole = false, labels = {} } = build ?? { spec: onlyContainer('main') }
  const annotations = place === undefined ? {} : readPlace(resource, place)
  return {
    resource,
    path: place === undefined ? [...resource.path, 'spec'] : place.path.slice(0, -1),
    fields: { metadata: { annotations, labels }, spec },
    role: describeRole(inside, place),
    pods: typeof pods === 'number' && Number.isSafeInteger(pods) ? pods : undefined,
    isWhole,
  }
}

function describeRole(inside: readonly Step[], place: AnnotationPlace | undefined): string {
  const [, role] = /^spark\.kubernetes\.(\w+)\./.exec(place?.prefix ?? '') ?? []
  return role ?? inside.slice(0, -1).join('.')
}

interface Building {
  readonly resource: ManifestResource
  /** The path of the annotations from the root of the object. */
  readonly inside: readonly Step[]
  readonly place: AnnotationPlace | undefined
}

/**
 * The functions that build the pods of a kind. The names of the containers come from the source of
 * each operator.
 */
const BUILDERS: Readonly<Record<string, (building: Building) => Build>> = {
  'flux-framework.org/MiniCluster': miniCluster,
  'flux-framework.org/MetricSet': ({ resource }) => ({
    spec: onlyContainer('launcher'),
    pods: fieldsOrNone(resource.fields.spec).pods ?? 1,
  }),
  'sparkoperator.k8s.io/SparkApplication': sparkPod,
  'sparkoperator.k8s.io/ScheduledSparkApplication': sparkPod,
  'sparkoperator.k8s.io/SparkConnect': sparkConnectPod,
  'spark.apache.org/SparkApplication': ({ place }) => {
    const isDriver = place?.prefix.includes('.driver.') === true
    return { ...sparkContainer(isDriver), pods: isDriver ? 1 : undefined }
  },
  'tekton.dev/TaskRun': tektonPod,
  'tekton.dev/Task': tektonPod,
  'tekton.dev/ClusterTask': tektonPod,
  'tekton.dev/PipelineRun': tektonPod,
  'tekton.dev/Pipeline': tektonPod,
  'serving.knative.dev/Service': knativePod,
  'serving.knative.dev/Configuration': knativePod,
  // KServe pkg/constants, InferenceServiceContainerName.
  'serving.kserve.io/InferenceService': ({ resource, inside }) => {
    const component = fieldsOrNone(valueAt(resource.fields, inside.slice(0, -1)))
    const isOwn = asObjects(component.containers).length > 0
    return { spec: isOwn ? component : onlyContainer('kserve-container') }
  },
  'serving.kserve.io/LLMInferenceService': ({ resource, inside }) => {
    const workload = fieldsOrNone(valueAt(resource.fields, inside.slice(0, -1)))
    const template = fieldsOrNone(workload.template)
    const isOwn = asObjects(template.containers).length > 0
    return { spec: isOwn ? template : onlyContainer('main'), pods: workload.replicas ?? 1 }
  },
  // k8s-nim-operator api/apps/v1alpha1, GetContainerName.
  'apps.nvidia.com/NIMService': ({ resource: { fields, name } }) => ({
    spec: onlyContainer(`${name}-ctr`),
    pods: fieldsOrNone(fields.spec).replicas ?? 1,
  }),
  'kubeflow.org/Notebook': ({ resource: { fields } }) => ({
    spec: fieldsOrNone(fieldsOrNone(fieldsOrNone(fields.spec).template).spec),
    pods: 1,
  }),
  // flink-kubernetes, Constants.MAIN_CONTAINER_NAME.
  'flink.apache.org/FlinkDeployment': ({ resource }) => {
    const template = fieldsOrNone(fieldsOrNone(resource.fields.spec).podTemplate)
    return { spec: withContainer(fieldsOrNone(template.spec), 'flink-main-container') }
  },
  // Trainer pkg/constants, Node.
  'trainer.kubeflow.org/TrainJob': ({ resource: { fields } }) => ({
    spec: onlyContainer('node'),
    pods: fieldsOrNone(fieldsOrNone(fields.spec).trainer).numNodes,
  }),
  // slurm-operator internal/builder/labels/labels.go, the names of the applications.
  'slinky.slurm.net/NodeSet': ({ resource }) => slinkyPod(resource, 'slurmd'),
  'slinky.slurm.net/LoginSet': ({ resource }) => slinkyPod(resource, 'login'),
  'slinky.slurm.net/Controller': ({ resource }) => slinkyPod(resource, 'slurmctld'),
  'slinky.slurm.net/RestApi': ({ resource }) => slinkyPod(resource, 'slurmrestd'),
  'slinky.slurm.net/Accounting': ({ resource }) => slinkyPod(resource, 'slurmdbd'),
  // grove operator/api/core/v1alpha1/podclique.go, PodCliqueSpec.
  'grove.io/PodCliqueSet': ({ resource, inside }) => {
    const { spec } = fieldsOrNone(valueAt(resource.fields, inside.slice(0, -1)))
    const { podSpec, replicas } = fieldsOrNone(spec)
    return { spec: fieldsOrNone(podSpec), pods: replicas ?? 1, isWhole: true }
  },
  'grove.io/PodClique': ({ resource: { fields } }) => {
    const { podSpec, replicas } = fieldsOrNone(fields.spec)
    return { spec: fieldsOrNone(podSpec), pods: replicas ?? 1, isWhole: true }
  },
  // A pod template may add containers to the container `main` (dynamo
  // deploy/operator/internal/dynamo/graph.go, ensureMainContainer).
  'nvidia.com/DynamoGraphDeployment': ({ resource, inside }) => {
    const component = fieldsOrNone(valueAt(resource.fields, inside.slice(0, 3)))
    const { spec } = fieldsOrNone(component.podTemplate)
    return { spec: withContainer(fieldsOrNone(spec), 'main'), pods: component.replicas ?? 1 }
  },
  'argoproj.io/Workflow': argoPod,
  'argoproj.io/CronWorkflow': argoPod,
  'argoproj.io/WorkflowTemplate': argoPod,
  'argoproj.io/ClusterWorkflowTemplate': argoPod,
}

function onlyContainer(name: string): Fields {
  return { containers: [{ name }] }
}

/** Adds a container to the spec of a pod, unless a container has its name. */
function withContainer(spec: Fields, name: string): Fields {
  const containers = asObjects(spec.containers)
  if (containers.some((container) => container.name === name)) return spec
  return { ...spec, containers: [{ name }, ...containers] }
}

/** Builds a pod of Slinky, which adds its container to the template. */
function slinkyPod({ fields }: ManifestResource, name: string): Build {
  const { template, replicas } = fieldsOrNone(fields.spec)
  const { spec } = fieldsOrNone(template)
  return { spec: withContainer(fieldsOrNone(spec), name), pods: replicas ?? 1 }
}

/**
 * Builds a pod of a MiniCluster (flux-operator controllers/flux/{job,containers,pods}.go): the
 * container that runs Flux has the name of the MiniCluster, and the pod does not share its process
 * namespace unless the object says so.
 */
function miniCluster({ resource: { fields, name } }: Building): Build {
  const { containers, shareProcessNamespace, size, pod, flux } = fieldsOrNone(fields.spec)
  const declared = asObjects(containers)
  const { hostPID, nodeSelector, runtimeClassName, securityContext } = fieldsOrNone(pod)
  const { container } = fieldsOrNone(flux)
  const isDisabled = fieldsOrNone(container).disable === true
  const isFlux = (one: Fields) => declared.length < 2 || one.runFlux === true
  const { fsGroup } = fieldsOrNone(securityContext)
  return {
    spec: {
      shareProcessNamespace: shareProcessNamespace === true,
      hostPID,
      nodeSelector,
      runtimeClassName,
      securityContext: fsGroup === undefined ? undefined : { fsGroup },
      initContainers: isDisabled ? [] : [{ name: 'flux-view' }],
      containers: (declared.length > 0 ? declared : [{}]).map((container, index) => ({
        name: isFlux(container) ? name : (asText(container.name) ?? `container-${index}`),
        image: container.image,
        resources: container.resources,
        securityContext: container.securityContext,
      })),
    },
    pods: size ?? 1,
    isWhole: declared.length > 0,
  }
}

function sparkContainer(isDriver: boolean): Build {
  const name = isDriver ? 'spark-kubernetes-driver' : 'spark-kubernetes-executor'
  return { spec: { ...onlyContainer(name), restartPolicy: 'Never' } }
}

/** Builds a driver or an executor (spark-operator api/v1beta2, SparkPodSpec). */
function sparkPod({ resource, inside }: Building): Build {
  const isDriver = inside.at(-2) === 'driver'
  const role = fieldsOrNone(valueAt(resource.fields, inside.slice(0, -1)))
  const { shareProcessNamespace, sidecars, podSecurityContext, nodeSelector, instances } = role
  const { spec } = sparkContainer(isDriver)
  const [main] = asObjects(spec.containers)
  return {
    spec: {
      ...spec,
      shareProcessNamespace,
      nodeSelector,
      securityContext: podSecurityContext,
      containers: [{ ...main, securityContext: role.securityContext }, ...asObjects(sidecars)],
    },
    pods: isDriver ? 1 : (instances ?? 1),
    isWhole: true,
  }
}

/** Builds the server or an executor (spark-operator internal/controller/sparkconnect). */
function sparkConnectPod({ resource: { fields }, place }: Building): Build {
  const { server, executor } = fieldsOrNone(fields.spec)
  const isServer = place?.prefix === ''
  const template = fieldsOrNone(fieldsOrNone(isServer ? server : executor).template)
  const podSpec = fieldsOrNone(template.spec)
  const { spec } = sparkContainer(isServer)
  return {
    spec: asObjects(podSpec.containers).length > 0 ? podSpec : { ...spec, ...podSpec },
    pods: isServer ? 1 : fieldsOrNone(executor).instances,
  }
}

/** Builds the pod of a task, whose containers are `step-NAME` (pipeline pkg/pod). */
function tektonPod({ resource: { fields, kind } }: Building): Build {
  const spec = fieldsOrNone(fields.spec)
  const [inline] = asObjects(fieldsOrNone(spec.pipelineSpec ?? spec).tasks)
  const task = kind.endsWith('Task') ? spec : fieldsOrNone((inline ?? spec).taskSpec)
  const steps = asObjects(task.steps)
  const template = fieldsOrNone(spec.podTemplate)
  const names = steps.map(({ name }, index) => `step-${asText(name) ?? `unnamed-${index}`}`)
  const containers = steps.map(({ securityContext }, index) => {
    return { name: names[index], securityContext }
  })
  return {
    spec: {
      ...template,
      restartPolicy: 'Never',
      containers: steps.length > 0 ? containers : [{ name: 'step-unnamed-0' }],
    },
  }
}

/** Builds the pod of a revision (serving pkg/reconciler/revision/resources/deploy.go). */
function knativePod({ resource: { fields } }: Building): Build {
  const template = fieldsOrNone(fieldsOrNone(fields.spec).template)
  const spec = fieldsOrNone(template.spec)
  const containers = asObjects(spec.containers).map((container, index) => {
    return { ...container, name: asText(container.name) ?? knativeName(index) }
  })
  return {
    spec: { ...spec, containers: [...containers, { name: 'queue-proxy' }] },
    isWhole: containers.length > 0,
  }
}

function knativeName(index: number): string {
  return index === 0 ? 'user-container' : `user-container-${index}`
}

function argoPod({ resource: { name } }: Building): Build {
  return {
    spec: { containers: [{ name: 'wait' }, { name: 'main' }] },
    labels: { 'workflows.argoproj.io/workflow': name },
  }
}
