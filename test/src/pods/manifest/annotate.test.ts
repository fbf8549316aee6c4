import t from 'tap'
import { annotate } from '../../../../src/pods/manifest/annotate.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import { WORKLOADS, workload } from './build.ts'

const ASK = { 'ridealong.dev/inject': 'io-sysstat' }

function annotated(text: string, annotations = ASK) {
  return readManifests('a.yaml', text).map((manifest) => annotate(manifest, annotations, false))
}

function textOf(text: string, annotations = ASK): string {
  return annotated(text, annotations)
    .map((one) => one.text)
    .join('')
}

t.test('all pod templates of the recorded workloads are annotated', async (t) => {
  for (const name of WORKLOADS) {
    const out = textOf(workload(name))
    const templates = readManifests('a.yaml', out).flatMap(findResources).flatMap(findTemplates)
    for (const { fields } of templates) t.match(fields, { metadata: { annotations: ASK } })
    t.equal(textOf(out), out)
    const lines = out
      .split('\n')
      .filter(
        (line) => !line.includes('ridealong.dev') && !/(annotations|metadata|pod):/.test(line),
      )
    t.ok(
      lines.every((line) => workload(name).includes(line.trim())),
      'no other line is new',
    )
  }
})

t.test('equal annotations are not changed, and different values are replaced', async (t) => {
  const text = `kind: Pod
apiVersion: v1
metadata:
  annotations: # ours
    ridealong.dev/inject: "io-sysstat"   # quoted
    perf-sysstat.ridealong.dev/rate: '2' # fast
spec: {containers: [{name: a}]}
`
  t.equal(textOf(text), text)
  const rate = { ...ASK, 'perf-sysstat.ridealong.dev/rate': '5' }
  t.equal(textOf(text, rate), text.replace("'2'", '"5"'))
})

t.test('a kind whose pods cannot be annotated and an unknown kind are reported', async (t) => {
  const why = (apiVersion: string, kind: string, spec = '{greeting: hi}') => {
    const [one] = annotated(`apiVersion: ${apiVersion}\nkind: ${kind}\nspec: ${spec}\n`)
    t.equal(one?.places, 0)
    return one?.passedOver[0]?.why
  }
  t.match(why('my.domain/v1alpha1', 'Lolcow'), /annotate the namespace$/)
  t.match(why('app.example.com/v1alpha1', 'Netperf'), /annotate the namespace$/)
  t.match(why('argoproj.io/v1alpha1', 'Workflow'), 'Argo Workflows signals process 1')
  t.equal(why('example.com/v1', 'Thing'), undefined, 'an unknown kind has a report of its own')
  t.equal(
    why('batch/v1', 'Job'),
    'its containers are missing or have no names: ' +
      'spec.template.spec.containers must be a list of containers with names',
  )
  t.equal(
    why('v1', 'Pod', '{containers: [{image: a}]}'),
    'its containers are missing or have no names: spec.containers must be a list of containers ' +
      'with names',
  )
  t.match(why('jobset.x-k8s.io/v1', 'JobSet'), /: spec\.replicatedJobs\[\]\.template\.spec\.temp/)
  t.match(
    why('serving.kserve.io/v1beta1', 'InferenceService'),
    /: spec\.predictor, spec\.transformer, and spec\.explainer are all missing or empty$/,
  )
  t.equal(
    why('apps.nvidia.com/v1alpha1', 'NIMPipeline'),
    'spec.services[].spec.annotations cannot be written: spec.services is missing or empty',
  )
  t.match(
    why('workload.codeflare.dev/v1beta2', 'AppWrapper'),
    'spec.components[].template contains no object',
  )
  t.equal(why('v1', 'ConfigMap'), undefined, 'a kind that creates no pods is ignored')
  t.equal(why('v1', 'Namespace'), undefined)
})

t.test('a field that is not a map on the way to the annotations is reported', async (t) => {
  const pod = (metadata: string) =>
    `apiVersion: v1\nkind: Pod\nmetadata: ${metadata}\nspec: {containers: [{name: a}]}\n`
  for (const value of ['3', 'text', 'true', '[a]', '""']) {
    const problem = 'a.yaml: document 1, line 1: metadata.annotations must be a map'
    t.throws(() => annotated(pod(`{name: a, annotations: ${value}}`)), { message: problem })
  }
  const cluster =
    'apiVersion: v1\nkind: List\nitems:\n- apiVersion: ray.io/v1\n  kind: RayCluster\n'
  const group = '{template: {metadata: [], spec: {containers: [{name: a}]}}}'
  t.throws(() => annotated(`${cluster}  spec: {workerGroupSpecs: [${group}]}\n`), {
    message: 'a.yaml: document 1, line 4: spec.workerGroupSpecs[0].template.metadata must be a map',
  })
  const [empty] = annotated(pod('{name: a, annotations: null}'))
  t.equal(empty?.places, 1, 'null counts as missing')
})

t.test('empty items of a list get no annotations', async (t) => {
  const graph = 'apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n'
  for (const spec of ['spec: {components: [null]}', 'spec:\n  components:\n  -']) {
    const [one] = annotated(`${graph}${spec}\n`)
    t.equal(one?.text, `${graph}${spec}\n`)
    t.match(one?.passedOver, [{ why: /spec\.components are all missing or empty$/ }])
  }
  const rest = 'spec:\n  components:\n  -\n  - name: a'
  const added = '    podTemplate:\n      metadata:\n        annotations:\n'
  t.equal(
    textOf(`${graph}${rest}\n`),
    `${graph}${rest}\n${added}          ridealong.dev/inject: io-sysstat\n`,
  )
  const set = 'apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n'
  t.equal(annotated(`${set}spec: {template: {cliques: [null]}}\n`)[0]?.places, 0)
})

t.test('a Namespace is annotated if the caller permits it', async (t) => {
  const [manifest] = readManifests(
    'a.yaml',
    'apiVersion: v1\nkind: Namespace\nmetadata: {name: hpc}\n',
  )
  t.ok(manifest)
  if (manifest === undefined) return
  const { text } = annotate(manifest, ASK, true)
  t.match(text, 'metadata: {name: hpc, annotations: {ridealong.dev/inject: io-sysstat}}')
})
