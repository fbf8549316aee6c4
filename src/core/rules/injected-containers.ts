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
 * The containers of other injectors, which are not the application. The comment of each row names
 * the place in the source code of the injector.
 */
const INJECTED: readonly InjectedContainers[] = [
  // gcs-fuse-csi-driver pkg/webhook/sidecar_spec.go. The injector puts both before the application.
  { injector: 'Cloud Storage FUSE', name: 'gke-gcsfuse-sidecar' },
  { injector: 'Cloud Storage FUSE', name: 'gke-gcsfuse-metadata-prefetch' },
  // fluid pkg/common/constants.go, FuseContainerName. The injector puts `fluid-fuse-0` first.
  { injector: 'Fluid', prefix: 'fluid-fuse' },
  // juicefs-csi-driver pkg/common/common.go, MountContainerName.
  { injector: 'JuiceFS', prefix: 'jfs-mount' },
  // kruise pkg/control/sidecarcontrol/util.go, SidecarEnvKey. A SidecarSet chooses the names.
  { injector: 'OpenKruise', variable: 'IS_INJECTED' },
  // istio pkg/kube/inject/inject.go, ProxyContainerName.
  { injector: 'Istio', name: 'istio-proxy' },
  // linkerd2 pkg/k8s/labels.go, ProxyContainerName and DebugContainerName.
  { injector: 'Linkerd', name: 'linkerd-proxy' },
  { injector: 'Linkerd', name: 'linkerd-debug' },
  // kuma pkg/plugins/runtime/k8s/util/util.go, KumaSidecarContainerName.
  { injector: 'Kuma', name: 'kuma-sidecar' },
  // consul-k8s control-plane/connect-inject/webhook/consul_dataplane_sidecar.go. A pod with
  // several ports has a container for each service, whose name ends with the service.
  { injector: 'Consul', prefix: 'consul-dataplane' },
  // dapr pkg/injector/consts/consts.go, SidecarContainerName.
  { injector: 'Dapr', name: 'daprd' },
  // vault-k8s agent-inject/agent/container_sidecar.go.
  { injector: 'Vault', name: 'vault-agent' },
  // cloud-sql-proxy-operator internal/workload/names.go, ContainerPrefix.
  { injector: 'Cloud SQL Proxy Operator', prefix: 'csql-' },
  // cloud-sql-proxy examples/k8s-sidecar, which people copy into their pods.
  { injector: 'Cloud SQL Auth Proxy', name: 'cloud-sql-proxy' },
  // opentelemetry-operator internal/naming/main.go, Container.
  { injector: 'OpenTelemetry Operator', name: 'otc-container' },
  // azure-workload-identity pkg/webhook/consts.go, ProxySidecarContainerName.
  { injector: 'Azure Workload Identity', name: 'azwi-proxy' },
  // datadog-agent pkg/clusteragent/admission/mutate/agent_sidecar, agentSidecarContainerName.
  { injector: 'Datadog', name: 'datadog-agent-injected' },
  // katib pkg/webhook/v1beta1/pod and pkg/metricscollector/v1beta1/common/const.go.
  { injector: 'Katib', name: 'metrics-logger-and-collector' },
  { injector: 'Katib', name: 'metrics-collector' },
  // serving pkg/reconciler/revision/resources/queue.go, QueueContainerName.
  { injector: 'Knative', name: 'queue-proxy' },
  // telepresence pkg/agentconfig/sidecar.go, ContainerName.
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
export function findInjector({ spec }: Pick<Pod, 'spec'>, index: number): string | undefined {
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
