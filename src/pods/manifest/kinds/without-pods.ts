/**
 * Groups whose kinds create no pods, except the kinds in the table of kinds, with the reason. An
 * asterisk stands for the first labels of a group.
 */
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['its controller issues certificates', ['cert-manager.io', 'trust.cert-manager.io']],
  [
    'it configures scheduling and quotas',
    [
      'kueue.x-k8s.io',
      'visibility.kueue.x-k8s.io',
      'config.kueue.x-k8s.io',
      'scheduling.volcano.sh',
      'bus.volcano.sh',
      'nodeinfo.volcano.sh',
      'topology.volcano.sh',
      'scheduling.x-k8s.io',
      'scheduling.sigs.k8s.io',
      'scheduling.koordinator.sh',
      'slo.koordinator.sh',
      'config.koordinator.sh',
      'quota.codeflare.dev',
      'scheduling.run.ai',
    ],
  ],
  [
    'it configures policies',
    [
      'kyverno.io',
      'policies.kyverno.io',
      'reports.kyverno.io',
      'wgpolicyk8s.io',
      '*.gatekeeper.sh',
      'policy.kruise.io',
      'policy.open-cluster-management.io',
      'policy.karmada.io',
      'policy.linkerd.io',
      'cilium.io',
      'crd.projectcalico.org',
      'projectcalico.org',
    ],
  ],
  [
    'it configures networks and routes',
    [
      'networking.istio.io',
      'security.istio.io',
      'telemetry.istio.io',
      'extensions.istio.io',
      'split.smi-spec.io',
      'specs.smi-spec.io',
      'linkerd.io',
      'multicluster.x-k8s.io',
      'inference.networking.x-k8s.io',
      'traefik.io',
      'traefik.containo.us',
      'projectcontour.io',
      'getambassador.io',
      'configuration.konghq.com',
      'gateway.envoyproxy.io',
      'gateway.nginx.org',
      'k8s.nginx.org',
      'appprotect.f5.com',
      'cis.f5.com',
      'k8s.cni.cncf.io',
      'whereabouts.cni.cncf.io',
      'metallb.io',
      'elbv2.k8s.aws',
      'appmesh.k8s.aws',
      'vpcresources.k8s.aws',
      'externaldns.k8s.io',
      'externaldns.nginx.org',
      'networking.gke.io',
      'cloud.google.com',
      'net.gke.io',
      'networking.internal.knative.dev',
      'caching.internal.knative.dev',
      'route.openshift.io',
      'k8s.ovn.org',
      'sriovnetwork.openshift.io',
    ],
  ],
  [
    'it holds secrets',
    [
      'external-secrets.io',
      'generators.external-secrets.io',
      'bitnami.com',
      'secrets.hashicorp.com',
      'secrets-store.csi.x-k8s.io',
      'isindir.github.com',
      'spire.spiffe.io',
    ],
  ],
  [
    'it configures monitoring',
    ['monitoring.googleapis.com', 'monitoring.openshift.io', 'sloth.slok.dev', 'pyrra.dev'],
  ],
  ['it installs manifests from elsewhere', ['*.toolkit.fluxcd.io', 'app.k8s.io']],
  [
    'it manages nodes and clusters',
    [
      'karpenter.sh',
      'karpenter.k8s.aws',
      'karpenter.azure.com',
      'cluster.x-k8s.io',
      '*.cluster.x-k8s.io',
      'machine.openshift.io',
      'machineconfiguration.openshift.io',
      'config.openshift.io',
      'console.openshift.io',
      'tuned.openshift.io',
      'performance.openshift.io',
      'eksctl.io',
      'k3d.io',
      'kind.x-k8s.io',
      'kwok.x-k8s.io',
      'ctlptl.dev',
      'cluster.open-cluster-management.io',
      'apps.open-cluster-management.io',
      'cluster.karmada.io',
    ],
  ],
  [
    'it manages users and permissions',
    [
      'security.openshift.io',
      'project.openshift.io',
      'quota.openshift.io',
      'user.openshift.io',
      'oauth.openshift.io',
      'authorization.openshift.io',
      'image.openshift.io',
      'capsule.clastix.io',
    ],
  ],
  [
    'its controller manages resources outside the cluster',
    [
      '*.services.k8s.aws',
      '*.cnrm.cloud.google.com',
      '*.upbound.io',
      '*.azure.com',
      'apiextensions.crossplane.io',
    ],
  ],
  ['it configures storage', ['objectbucket.io', 'snapscheduler.backube', 'velero.io']],
  ['it injects faults into pods of others', ['chaos-mesh.org']],
]

/** Kinds that create no pods, of groups whose other kinds may create pods, with the reason. */
const KINDS: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'it configures monitoring',
    'monitoring.coreos.com',
    [
      'AlertmanagerConfig',
      'PodMonitor',
      'Probe',
      'PrometheusRule',
      'ScrapeConfig',
      'ServiceMonitor',
    ],
  ],
  [
    'it configures monitoring',
    'operator.victoriametrics.com',
    [
      'VMAlertmanagerConfig',
      'VMNodeScrape',
      'VMPodScrape',
      'VMProbe',
      'VMRule',
      'VMScrapeConfig',
      'VMServiceScrape',
      'VMStaticScrape',
      'VMUser',
    ],
  ],
  [
    'it configures logging',
    'logging.banzaicloud.io',
    ['ClusterFlow', 'ClusterOutput', 'Flow', 'Output'],
  ],
  ['its controller issues certificates', 'acme.cert-manager.io', ['Order']],
  [
    'it scales the pods of another object',
    'keda.sh',
    ['ScaledObject', 'TriggerAuthentication', 'ClusterTriggerAuthentication', 'CloudEventSource'],
  ],
  [
    'it installs manifests from elsewhere',
    'argoproj.io',
    ['Application', 'ApplicationSet', 'AppProject'],
  ],
  [
    'it describes an analysis or a binding',
    'argoproj.io',
    ['AnalysisTemplate', 'ClusterAnalysisTemplate', 'WorkflowEventBinding'],
  ],
  [
    'it installs an operator',
    'operators.coreos.com',
    ['InstallPlan', 'Operator', 'OperatorCondition', 'OperatorGroup', 'Subscription'],
  ],
  ['it configures events', 'eventing.knative.dev', ['Broker', 'Trigger', 'EventType']],
  ['it configures events', 'messaging.knative.dev', ['Channel', 'InMemoryChannel', 'Subscription']],
  ['it configures routes', 'serving.knative.dev', ['Route', 'DomainMapping']],
  [
    'it configures events',
    'triggers.tekton.dev',
    ['ClusterInterceptor', 'ClusterTriggerBinding', 'Trigger', 'TriggerBinding'],
  ],
  ['it describes a step', 'tekton.dev', ['StepAction', 'PipelineResource']],
  ['it configures the pods of others', 'kubeflow.org', ['PodDefault', 'Profile', 'Suggestion']],
  ['it describes a model', 'serving.kserve.io', ['ClusterStorageContainer', 'TrainedModel']],
  [
    'its job runs in another deployment',
    'flink.apache.org',
    ['FlinkSessionJob', 'FlinkStateSnapshot'],
  ],
  ['it scales the pods of another object', 'kubernetes.dask.org', ['DaskAutoscaler']],
  ['it describes nodes', 'nfd.k8s-sigs.io', ['NodeFeature', 'NodeFeatureGroup', 'NodeFeatureRule']],
  ['it configures the pods of others', 'opentelemetry.io', ['Instrumentation']],
  [
    'it configures Grafana',
    'grafana.integreatly.org',
    [
      'GrafanaAlertRuleGroup',
      'GrafanaContactPoint',
      'GrafanaDashboard',
      'GrafanaDatasource',
      'GrafanaFolder',
      'GrafanaLibraryPanel',
      'GrafanaNotificationPolicy',
    ],
  ],
  ['it configures Kafka', 'kafka.strimzi.io', ['KafkaConnector', 'KafkaTopic', 'KafkaUser']],
  [
    'it configures the pods of others',
    'apps.kruise.io',
    [
      'ContainerRecreateRequest',
      'ImagePullJob',
      'NodeImage',
      'NodePodProbe',
      'PersistentPodState',
      'PodProbeMarker',
      'ResourceDistribution',
      'SidecarSet',
      'WorkloadSpread',
    ],
  ],
  [
    'it configures storage',
    'ceph.rook.io',
    ['CephBlockPool', 'CephClient', 'CephFilesystemSubVolumeGroup', 'CephObjectStoreUser'],
  ],
  ['it describes a metric', 'ridealong.dev', ['Metric', 'Run']],
]

const BY_GROUP = new Map(GROUPS.flatMap(([why, groups]) => groups.map((group) => [group, why])))
const BY_KIND = new Map(
  KINDS.flatMap(([why, group, kinds]) => kinds.map((kind) => [`${group}/${kind}`, why])),
)

/** Returns the reason why a kind creates no pods; undefined if it may create pods. */
export function whyNoPods(group: string, kind: string): string | undefined {
  if (isBuiltIn(group)) return 'it is a kind of Kubernetes without a pod template'
  const ofKind = BY_KIND.get(`${group}/${kind}`) ?? BY_GROUP.get(group)
  if (ofKind !== undefined) return ofKind
  const labels = group.split('.')
  const ends = labels.map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  return ends.map((end) => BY_GROUP.get(end)).find((why) => why !== undefined)
}

/**
 * Reports whether a group belongs to Kubernetes itself. Kinds of such a group create no pods unless
 * the table of kinds lists them.
 */
export function isBuiltIn(group: string): boolean {
  const end = '.k8s.io'
  return (
    !group.includes('.') ||
    (group.endsWith(end) && !group.endsWith('.x-k8s.io') && group !== 'sparkoperator.k8s.io')
  )
}
