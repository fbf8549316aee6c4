import t from 'tap'
import { annotate } from '../../../../../src/pods/manifest/annotate.ts'
import { valueAt } from '../../../../../src/pods/manifest/kinds/paths.ts'
import { findMissedPods } from '../../../../../src/pods/manifest/missed-pods.ts'
import { readManifests } from '../../../../../src/pods/manifest/read.ts'
import { BATCH_KINDS, type KindRow } from './kinds-batch.ts'

const ASK = { 'ridealong.dev/inject': 'true' }
const SLINKY = 'slinky.slurm.net/v1beta1'
const BUILDER = 'SlinkyProject/slurm-operator f2ed3fc5 internal/builder'
const TEMPLATE = ['spec.template.metadata.annotations']
const NODES = '{replicas: 4, slurmd: {image: a}, template: {spec: {nodeSelector: {a: b}}}}'
const POD = '{containers: [{name: main, image: a}]}'
const CLIQUES = `[{name: a, spec: {podSpec: ${POD}}}, {name: b, spec: {podSpec: ${POD}}}]`
const DYNAMO = 'ai-dynamo/dynamo deploy/operator/internal/dynamo/graph.go, generateAnnotations'
const WORKSPACES =
  'kubeflow/notebooks 8b610577 workspaces/controller/internal/controller/workspace_controller.go'
const POD_METADATA = ['spec.podTemplate.podMetadata.annotations']

/**
 * Kinds, the line of their operator that copies the annotations, a spec, and the annotated fields.
 */
const KINDS: readonly KindRow[] = [
  ...BATCH_KINDS,
  [SLINKY, 'NodeSet', `${BUILDER}/workerbuilder/worker_app.go:44`, NODES, TEMPLATE],
  [SLINKY, 'LoginSet', `${BUILDER}/loginbuilder/login_app.go:79`, '{}', TEMPLATE],
  [SLINKY, 'Controller', `${BUILDER}/controllerbuilder/controller_app.go:38`, '{}', TEMPLATE],
  [SLINKY, 'RestApi', `${BUILDER}/restapibuilder/restapi_app.go:43`, '{}', TEMPLATE],
  [SLINKY, 'Accounting', `${BUILDER}/accountingbuilder/accounting_app.go:37`, '{}', TEMPLATE],
  [
    'slurm.nebius.ai/v1alpha1',
    'NodeSet',
    'nebius/soperator c238d993 internal/render/worker/statefulset.go:239',
    '{replicas: 2}',
    ['spec.workerAnnotations'],
  ],
  [
    'grove.io/v1alpha1',
    'PodCliqueSet',
    'ai-dynamo/grove fcc3b3bb operator/internal/controller/podcliqueset/components/podclique/' +
      'podclique.go:309',
    `{template: {cliques: ${CLIQUES}}}`,
    ['spec.template.cliques.0.annotations', 'spec.template.cliques.1.annotations'],
  ],
  [
    'grove.io/v1alpha1',
    'PodClique',
    'ai-dynamo/grove fcc3b3bb operator/internal/controller/podclique/components/pod/pod.go:155',
    `{podSpec: ${POD}}`,
    ['metadata.annotations'],
  ],
  [
    'nvidia.com/v1alpha1',
    'DynamoGraphDeployment',
    DYNAMO,
    '{services: {Frontend: {replicas: 1}, decode: {extraPodSpec: {mainContainer: {image: a}}}}}',
    ['Frontend', 'decode'].map((name) => `spec.services.${name}.extraPodMetadata.annotations`),
  ],
  [
    'nvidia.com/v1beta1',
    'DynamoGraphDeployment',
    DYNAMO,
    `{components: [{name: a, podTemplate: {spec: ${POD}}}, {name: b, replicas: 2}]}`,
    ['0', '1'].map((index) => `spec.components.${index}.podTemplate.metadata.annotations`),
  ],
  [
    'ensemble.flux-framework.org/v1alpha1',
    'Ensemble',
    'converged-computing/ensemble-operator 31bf039 api/v1alpha1/ensemble_types.go:50',
    '{members: [{minicluster: {spec: {size: 4}}}, {type: other}]}',
    ['spec.members.0.minicluster.spec.pod.annotations'],
  ],
  ['kubeflow.org/v1beta1', 'Workspace', `${WORKSPACES}:995`, '{kind: jupyter}', POD_METADATA],
  ['kubeflow.org/v1beta1', 'WorkspaceKind', `${WORKSPACES}:991`, '{}', POD_METADATA],
  [
    'elastic.iml.github.io/v1alpha1',
    'ElasticJob',
    'intelligent-machine-learning/dlrover 7c3e9648 go/elasticjob/pkg/common/api/v1/types.go:94',
    `{replicaSpecs: {worker: {replicas: 2, template: {spec: ${POD}}}}}`,
    ['spec.replicaSpecs.worker.template.metadata.annotations'],
  ],
]

for (const [apiVersion, kind, source, spec, paths] of KINDS) {
  t.test(
    `a ${kind} of ${apiVersion} is annotated where its operator reads (${source})`,
    async (t) => {
      const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nspec: ${spec}\n`
      const [manifest] = readManifests('a.yaml', text)
      if (manifest === undefined) return t.fail('no document')
      const { text: out, objects } = annotate(manifest, ASK, false)
      const value = readManifests('a.yaml', out)[0]?.value
      for (const path of paths) t.strictSame(valueAt(value, path.split('.')), ASK, path)
      t.equal(out.split('ridealong.dev/inject').length - 1, paths.length)
      t.match(findMissedPods(objects, 'annotated'), { notes: [], isAnyUnknown: false })
    },
  )
}
