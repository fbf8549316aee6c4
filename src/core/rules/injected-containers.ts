import { asText, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import type { Container, Pod } from '../kubernetes/pod.ts'

/**
 * The containers that another injector adds to pods. They are recognized by their name, by the
 * beginning of their name, or by a variable that the injector sets.
 */
type InjectedContainers = { readonly injector: string } & (
  | { readonly name: string }
  | { readonly prefix: string }
  | { readonly variable: string }
)

/**
 * The containers of other injectors, which are not the application. The comment above a row names
 * the repository, the commit and the file that contain the name. Some injectors put the container
 * before the application, and others after it.
 *
 * Most of these injectors can add the same container, with the same name, as a restartable init
 * container instead. An init container is never the default target, so injectors that add only init
 * containers have no row: the operators of Dynatrace (`dynatrace-operator`) and of New Relic's
 * agents (`nri-java--…`), SkyWalking, and the languages other than Go of the OpenTelemetry
 * Operator. A name that applications have too is not listed if its injector puts the container
 * last: `envoy` of Open Service Mesh, `agent` and `batcher` of KServe, and `kube-rbac-proxy` of
 * Open Data Hub's notebooks.
 */
const INJECTED: readonly InjectedContainers[] = [
  // GoogleCloudPlatform/gcs-fuse-csi-driver 5fcdc04 pkg/webhook/sidecar_spec.go, GcsFuseSidecarName
  // and MetadataPrefetchSidecarName. The injector puts both before the application.
  { injector: 'Cloud Storage FUSE', name: 'gke-gcsfuse-sidecar' },
  { injector: 'Cloud Storage FUSE', name: 'gke-gcsfuse-metadata-prefetch' },
  // fluid-cloudnative/fluid a826600 pkg/common/volume.go, FuseContainerName, and
  // pkg/application/inject/fuse/mutator/mutator_default.go, which puts `fluid-fuse-0` first.
  { injector: 'Fluid', prefix: 'fluid-fuse' },
  // fluid-cloudnative/fluid a826600 pkg/webhook/plugins/fileprefetcher/const.go.
  { injector: 'Fluid', name: 'fluid-file-prefetcher' },
  // juicedata/juicefs-csi-driver 5e5a4b3 pkg/common/common.go, MountContainerName, and
  // pkg/webhook/handler/mutate/sidecar.go, which puts `jfs-mount` and `jfs-mount-1` first.
  { injector: 'JuiceFS', prefix: 'jfs-mount' },
  // openkruise/kruise 07169cf pkg/control/sidecarcontrol/util.go, SidecarEnvKey. A SidecarSet
  // chooses the names, and whether the containers are before the application.
  { injector: 'OpenKruise', variable: 'IS_INJECTED' },
  // istio/istio 86c9f01 pkg/kube/inject/inject.go, ProxyContainerName. It is first with
  // holdApplicationUntilProxyStarts.
  { injector: 'Istio', name: 'istio-proxy' },
  // linkerd/linkerd2 b24cd40 pkg/k8s/labels.go, ProxyContainerName and DebugContainerName. The
  // proxy is first if the application waits for it (charts/patch/templates/patch.json).
  { injector: 'Linkerd', name: 'linkerd-proxy' },
  { injector: 'Linkerd', name: 'linkerd-debug' },
  // kumahq/kuma 348b652 pkg/plugins/runtime/k8s/util/names.go, KumaSidecarContainerName. The
  // injector puts it first.
  { injector: 'Kuma', name: 'kuma-sidecar' },
  // hashicorp/consul-k8s a507b1d control-plane/connect-inject/webhook/mesh_webhook.go,
  // sidecarContainer. A pod with several services has a container for each service, whose name
  // ends with the service. The injector can put them first.
  { injector: 'Consul', prefix: 'consul-dataplane' },
  // aws/aws-app-mesh-controller-for-k8s 7588d12 pkg/inject/sidecar_builder.go. The container's name
  // is `envoy`, so it is recognized by its variable. It is first with wait-until-proxy-ready.
  { injector: 'AWS App Mesh', variable: 'APPMESH_VIRTUAL_NODE_NAME' },
  // aws/aws-app-mesh-controller-for-k8s 7588d12 pkg/inject/xray.go, xrayDaemonContainerName.
  { injector: 'AWS App Mesh', name: 'xray-daemon' },
  // dapr/dapr d845074 pkg/injector/consts/consts.go, SidecarContainerName.
  { injector: 'Dapr', name: 'daprd' },
  // hashicorp/vault-k8s fbc5b1f agent-inject/agent/container_sidecar.go, and
  // bank-vaults/vault-secrets-webhook e0f9160 pkg/webhook/pod.go, which puts it first.
  { injector: 'Vault', name: 'vault-agent' },
  // bank-vaults/vault-secrets-webhook e0f9160 pkg/webhook/pod.go, which puts it first.
  { injector: 'Vault', name: 'consul-template' },
  // GoogleCloudPlatform/cloud-sql-proxy-operator 968e712 internal/workload/names.go,
  // ContainerPrefix.
  { injector: 'Cloud SQL Proxy Operator', prefix: 'csql-' },
  // GoogleCloudPlatform/cloud-sql-proxy 31c3b33 examples/k8s-health-check, which people copy into
  // their pods.
  { injector: 'Cloud SQL Auth Proxy', name: 'cloud-sql-proxy' },
  // open-telemetry/opentelemetry-operator be89444 internal/naming/main.go, Container. The
  // operator of the CloudWatch agent is derived from it and has the same names
  // (aws/amazon-cloudwatch-agent-operator a8d766c internal/naming/main.go).
  { injector: 'OpenTelemetry Operator', name: 'otc-container' },
  // open-telemetry/opentelemetry-operator be89444 internal/instrumentation/sdk.go, sideCarName.
  { injector: 'OpenTelemetry Operator', name: 'opentelemetry-auto-instrumentation' },
  // jaegertracing/jaeger-operator 87d8ae0 pkg/inject/sidecar.go.
  { injector: 'Jaeger Operator', name: 'jaeger-agent' },
  // open-feature/open-feature-operator 90d373f internal/common/flagdinjector/flagdinjector.go.
  { injector: 'OpenFeature Operator', name: 'flagd' },
  // Azure/azure-workload-identity 04d01a2 pkg/webhook/consts.go, ProxySidecarContainerName.
  { injector: 'Azure Workload Identity', name: 'azwi-proxy' },
  // DataDog/datadog-agent 079c903 pkg/clusteragent/admission/mutate/agent_sidecar/constants.go,
  // agentSidecarContainerName.
  { injector: 'Datadog', name: 'datadog-agent-injected' },
  // newrelic/newrelic-infra-operator 3539858 internal/mutator/pod/agent/injector.go,
  // AgentSidecarName.
  { injector: 'New Relic', name: 'newrelic-infrastructure-sidecar' },
  // CrowdStrike/Container-Security 0d2ae00 aws-eks/eks-implementation-guide.md. The injector's
  // source is not public.
  { injector: 'CrowdStrike Falcon', name: 'crowdstrike-falcon-container' },
  // SumoLogic/tailing-sidecar 3f8a8c6 operator/handler/handler.go, sidecarContainerPrefix.
  { injector: 'Tailing Sidecar', prefix: 'tailing-sidecar-' },
  // kubeflow/katib 33c8ff4 pkg/metricscollector/v1beta1/common/const.go,
  // MetricLoggerCollectorContainerName and MetricCollectorContainerName.
  { injector: 'Katib', name: 'metrics-logger-and-collector' },
  { injector: 'Katib', name: 'metrics-collector' },
  // knative/serving 98e5ef9 pkg/reconciler/revision/resources/constants.go, QueueContainerName.
  { injector: 'Knative', name: 'queue-proxy' },
  // kserve/kserve aaac4e2 pkg/constants/constants.go, ModelcarContainerName; other models of a pod
  // have `modelcar-1` and so on (pkg/utils/storage.go, ModelcarNames).
  { injector: 'KServe', prefix: 'modelcar' },
  // telepresenceio/telepresence ebb9026 pkg/agentconfig/sidecar.go, ContainerName.
  { injector: 'Telepresence', name: 'traffic-agent' },
]

const BY_NAME = new Map(
  INJECTED.flatMap((row) => ('name' in row ? [[row.name, row] as const] : [])),
)
const BY_VARIABLE = new Map(
  INJECTED.flatMap((row) => ('variable' in row ? [[row.variable, row] as const] : [])),
)
const WITH_PREFIX = INJECTED.filter((row) => 'prefix' in row)

/**
 * Returns the container that observers observe if neither the request nor the pod names one: the
 * first container that no known injector has added, or the first container if there is no such
 * container.
 */
export function findDefaultTarget(pod: Pod): Container {
  const found = pod.containers.find((_, index) => findInjector(pod, index) === undefined)
  return found ?? pod.containers[0]
}

/** Returns the name of the injector that added the container with this index in `containers`. */
function findInjector({ spec }: Pick<Pod, 'spec'>, index: number): string | undefined {
  const { name, env } = fieldsOrNone(listOrNone(spec.containers)[index])
  const written = asText(name) ?? ''
  const row = BY_NAME.get(written) ?? WITH_PREFIX.find(({ prefix }) => written.startsWith(prefix))
  return (row ?? findByVariable(env))?.injector
}

function findByVariable(env: unknown): InjectedContainers | undefined {
  for (const variable of listOrNone(env)) {
    const row = BY_VARIABLE.get(asText(fieldsOrNone(variable).name) ?? '')
    if (row !== undefined) return row
  }
  return undefined
}
