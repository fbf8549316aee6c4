import t from 'tap'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import type { Json } from '../../../properties/arbitrary.ts'

const TEMPLATE = { spec: { containers: [{ name: 'a' }] } }

/** Returns the paths of the templates in an object. */
function pathsIn(apiVersion: string, kind: string, rest: Json): readonly string[] {
  const text = JSON.stringify({ apiVersion, kind, ...rest })
  const templates = readManifests('a.json', text).flatMap(findResources).flatMap(findTemplates)
  return templates.map(({ path }) => path.join('.'))
}

const IN_SPEC = { spec: { template: TEMPLATE } }
const REPLICAS = { Launcher: { template: TEMPLATE }, Worker: { template: TEMPLATE } }
const JOBS = [
  { template: { spec: { template: TEMPLATE } } },
  { template: { spec: { template: TEMPLATE } } },
]
const RAY = { headGroupSpec: { template: TEMPLATE }, workerGroupSpecs: [{ template: TEMPLATE }] }

const KINDS: readonly (readonly [string, string, Json, readonly string[]])[] = [
  ['v1', 'Pod', TEMPLATE, ['']],
  ['v1', 'PodTemplate', { template: TEMPLATE }, ['template']],
  ['v1', 'ReplicationController', IN_SPEC, ['spec.template']],
  ['apps/v1', 'Deployment', IN_SPEC, ['spec.template']],
  ['apps/v1', 'StatefulSet', IN_SPEC, ['spec.template']],
  ['apps/v1', 'DaemonSet', IN_SPEC, ['spec.template']],
  ['apps/v1', 'ReplicaSet', IN_SPEC, ['spec.template']],
  ['batch/v1', 'Job', IN_SPEC, ['spec.template']],
  ['batch/v1', 'CronJob', { spec: { jobTemplate: IN_SPEC } }, ['spec.jobTemplate.spec.template']],
  [
    'jobset.x-k8s.io/v1alpha2',
    'JobSet',
    { spec: { replicatedJobs: JOBS } },
    [
      'spec.replicatedJobs.0.template.spec.template',
      'spec.replicatedJobs.1.template.spec.template',
    ],
  ],
  ...[
    'MPIJob/mpi',
    'PyTorchJob/pytorch',
    'TFJob/tf',
    'XGBoostJob/xgb',
    'PaddleJob/paddle',
    'JAXJob/jax',
  ].map((pair): readonly [string, string, Json, readonly string[]] => {
    const [kind = '', prefix = ''] = pair.split('/')
    const key = `${prefix}ReplicaSpecs`
    const paths = [`spec.${key}.Launcher.template`, `spec.${key}.Worker.template`]
    return ['kubeflow.org/v1', kind, { spec: { [key]: REPLICAS } }, paths]
  }),
  [
    'batch.volcano.sh/v1alpha1',
    'Job',
    { spec: { tasks: [{ template: TEMPLATE }] } },
    ['spec.tasks.0.template'],
  ],
  [
    'ray.io/v1',
    'RayCluster',
    { spec: RAY },
    ['spec.headGroupSpec.template', 'spec.workerGroupSpecs.0.template'],
  ],
  [
    'ray.io/v1',
    'RayJob',
    { spec: { rayClusterSpec: RAY, submitterPodTemplate: TEMPLATE } },
    [
      'spec.rayClusterSpec.headGroupSpec.template',
      'spec.rayClusterSpec.workerGroupSpecs.0.template',
      'spec.submitterPodTemplate',
    ],
  ],
]

for (const [apiVersion, kind, object, paths] of KINDS) {
  t.test(`the pod templates of a ${kind} of ${apiVersion} are found`, async (t) => {
    t.strictSame(pathsIn(apiVersion, kind, object), paths)
    const list = { items: [{ apiVersion, kind, ...object }] }
    t.strictSame(
      pathsIn('v1', 'List', list),
      paths.map((path) => ['items.0', path].filter((part) => part !== '').join('.')),
    )
  })
}

t.test('the templates of an unknown kind are found by their structure', async (t) => {
  const spec = { roles: [{ pods: { metadata: {}, ...TEMPLATE } }], other: { template: TEMPLATE } }
  t.strictSame(pathsIn('example.com/v1', 'Thing', { spec }), [
    'spec.roles.0.pods',
    'spec.other.template',
  ])
})

t.test('a field that only resembles a template is ignored', async (t) => {
  const specs: readonly Json[] = [
    TEMPLATE.spec,
    { template: { ...TEMPLATE, other: 1 } },
    { template: { spec: { containers: [] } } },
    { template: { spec: { containers: [{ image: 'a' }] } } },
    { template: { spec: { containers: { name: 'a' } } } },
    { template: { spec: null } },
  ]
  for (const spec of specs) {
    const message = `${JSON.stringify(spec)} has no template`
    t.strictSame(pathsIn('example.com/v1', 'Thing', { spec }), [], message)
  }
  t.strictSame(pathsIn('flux-framework.org/v1alpha2', 'MiniCluster', TEMPLATE), [])
  t.strictSame(pathsIn('v1', 'ConfigMap', IN_SPEC), [])
  t.strictSame(pathsIn('batch/v1', 'Job', { spec: { template: { spec: {} } } }), [])
})
