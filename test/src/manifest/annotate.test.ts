import t from 'tap'
import { annotate } from '../../../src/manifest/annotate.ts'
import { readManifests } from '../../../src/manifest/read.ts'
import { findResources } from '../../../src/manifest/resources.ts'
import { findTemplates } from '../../../src/manifest/templates.ts'
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
  t.match(why('example.com/v1', 'Thing'), 'this kind is unknown')
  t.equal(
    why('batch/v1', 'Job'),
    'it has no container: spec.template.spec.containers must list containers with names',
  )
  t.equal(why('v1', 'Pod'), 'it has no container: spec.containers must list containers with names')
  t.match(why('jobset.x-k8s.io/v1', 'JobSet'), /: spec\.replicatedJobs\[\]\.template\.spec\.temp/)
  t.match(
    why('serving.kserve.io/v1beta1', 'InferenceService'),
    /^spec\.predictor\.annotations and .* cannot be added: a field is missing$/,
  )
  t.match(
    why('workload.codeflare.dev/v1beta2', 'AppWrapper'),
    'spec.components[].template contains no object',
  )
  t.equal(why('v1', 'ConfigMap'), undefined, 'a kind that creates no pods is ignored')
  t.equal(why('v1', 'Namespace'), undefined)
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
