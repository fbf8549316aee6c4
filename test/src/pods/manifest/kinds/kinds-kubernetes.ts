import { API, JOB, type KindRow, OBJECT, POD, TEMPLATE, TEMPLATED } from './kind-row.ts'

const OLD = /write apps\/v1$/

/** Kinds of Kubernetes, and kinds that contain whole objects of any kind. */
export const KUBERNETES_KINDS: readonly KindRow[] = [
  ['v1', 'Namespace', `${API} core/v1/types.go:7513`, '{}', OBJECT],
  ['v1', 'Pod', `${API} core/v1/types.go:5796`, POD, OBJECT],
  [
    'v1',
    'PodTemplate',
    `${API} core/v1/types.go:5857`,
    `{spec: ${POD}}`,
    ['template.metadata.annotations'],
    'template',
  ],
  ['v1', 'ReplicationController', `${API} core/v1/types.go:5917`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'StatefulSet', `${API} apps/v1/types.go:225`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'Deployment', `${API} apps/v1/types.go:431`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'DaemonSet', `${API} apps/v1/types.go:711`, TEMPLATED, TEMPLATE],
  ['apps/v1', 'ReplicaSet', `${API} apps/v1/types.go:935`, TEMPLATED, TEMPLATE],
  ['batch/v1', 'Job', `${API} batch/v1/types.go:407`, TEMPLATED, TEMPLATE],
  [
    'batch/v1',
    'CronJob',
    `${API} batch/v1/types.go:828`,
    `{jobTemplate: {spec: ${TEMPLATED}}}`,
    ['spec.jobTemplate.spec.template.metadata.annotations'],
  ],
  ['extensions/v1beta1', 'Deployment', `${API} extensions/v1beta1/types.go:85`, TEMPLATED, OLD],
  ['extensions/v1beta1', 'DaemonSet', `${API} extensions/v1beta1/types.go:537`, TEMPLATED, OLD],
  ['extensions/v1beta1', 'ReplicaSet', `${API} extensions/v1beta1/types.go:914`, TEMPLATED, OLD],
  [
    'workload.codeflare.dev/v1beta2',
    'AppWrapper',
    'project-codeflare/appwrapper b47a99e internal/controller/appwrapper/' +
      'resource_management.go:217',
    `{components: [{template: ${JOB}}]}`,
    ['spec.components.0.template.spec.template.metadata.annotations'],
  ],
  [
    'template.openshift.io/v1',
    'Template',
    'openshift/api 2a3d73913 template/v1/types.go:40',
    `[${JOB}]`,
    ['objects.0.spec.template.metadata.annotations'],
    'objects',
  ],
  [
    'work.open-cluster-management.io/v1',
    'ManifestWork',
    'open-cluster-management-io/ocm 00f84c32b pkg/work/spoke/controllers/manifestcontroller/' +
      'manifestwork_reconciler.go:120',
    `{workload: {manifests: [${JOB}]}}`,
    ['spec.workload.manifests.0.spec.template.metadata.annotations'],
  ],
  [
    'work.karmada.io/v1alpha1',
    'Work',
    'karmada-io/karmada f8fdd02df pkg/controllers/execution/execution_controller.go:309',
    `{workload: {manifests: [${JOB}]}}`,
    ['spec.workload.manifests.0.spec.template.metadata.annotations'],
  ],
]
