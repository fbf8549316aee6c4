/**
 * The kinds of Kubernetes and of Ridealong from whose objects no pods are created, by group
 * (kubernetes v1.36 staging/src/k8s.io/api, apiextensions-apiserver and kube-aggregator;
 * `extensions` up to v1.21). No other kind is known to create no pods: a group that ends in
 * `.k8s.io` can belong to anybody.
 */
const KINDS: Readonly<Record<string, string>> = {
  '': `Binding ComponentStatus ConfigMap Endpoints Event Eviction LimitRange Node PersistentVolume
    PersistentVolumeClaim ResourceQuota Secret Service ServiceAccount Status`,
  'admissionregistration.k8s.io': `MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
    MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
    ValidatingWebhookConfiguration`,
  'apiextensions.k8s.io': 'CustomResourceDefinition',
  'apiregistration.k8s.io': 'APIService',
  apps: 'ControllerRevision',
  'authentication.k8s.io': 'SelfSubjectReview TokenRequest TokenReview',
  'authorization.k8s.io': `LocalSubjectAccessReview SelfSubjectAccessReview
    SelfSubjectRulesReview SubjectAccessReview`,
  autoscaling: 'HorizontalPodAutoscaler Scale',
  'certificates.k8s.io': 'CertificateSigningRequest ClusterTrustBundle PodCertificateRequest',
  'coordination.k8s.io': 'Lease LeaseCandidate',
  'discovery.k8s.io': 'EndpointSlice',
  'events.k8s.io': 'Event',
  extensions: 'Ingress NetworkPolicy PodSecurityPolicy',
  'flowcontrol.apiserver.k8s.io': 'FlowSchema PriorityLevelConfiguration',
  'internal.apiserver.k8s.io': 'StorageVersion',
  'networking.k8s.io': `ClusterCIDR IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR`,
  'node.k8s.io': 'RuntimeClass',
  policy: 'Eviction PodDisruptionBudget PodSecurityPolicy',
  'rbac.authorization.k8s.io': 'ClusterRole ClusterRoleBinding Role RoleBinding',
  'resource.k8s.io': `DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate
    ResourceSlice`,
  'ridealong.dev': 'Metric Run',
  'scheduling.k8s.io': 'PodGroup PriorityClass Workload',
  'storage.k8s.io': `CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
    VolumeAttributesClass`,
  'storagemigration.k8s.io': 'StorageVersionMigration',
}

const NAMES: ReadonlySet<string> = new Set(
  Object.entries(KINDS).flatMap(([group, kinds]) => {
    return kinds.split(/\s+/).map((kind) => `${group}/${kind}`)
  }),
)

/** Reports whether a kind is known to create no pods. */
export function isWithoutPods(group: string, kind: string): boolean {
  return NAMES.has(`${group}/${kind}`)
}
