import t from 'tap'
import { listMisplacedKeys, listMisspeltKeys } from '../../../../src/pods/explain/mistaken-keys.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { podOf } from '../../core/build.ts'
import { explained } from './build.ts'

const INJECT = '{ridealong.dev/inject: "true"}'
const POD = 'spec: {containers: [{name: app}]}'

function misplacedIn(text: string): readonly string[] {
  return readManifests('a.yaml', text).flatMap(findResources).flatMap(listMisplacedKeys)
}

/** A manifest with annotations in a wrong place, and the sentence about them. */
const MISPLACED: Readonly<Record<string, readonly [string, string]>> = {
  'of a Job': [
    `apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: ${INJECT}}\n` +
      `spec: {template: {${POD}}}\n`,
    'annotation ridealong.dev/inject is in metadata.annotations of the Job, which is not copied ' +
      'to its pods; write it into spec.template.metadata.annotations',
  ],
  'of the Job of a CronJob': [
    `apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  jobTemplate:\n` +
      `    metadata: {annotations: ${INJECT}}\n    spec: {template: {${POD}}}\n`,
    'annotation ridealong.dev/inject is in spec.jobTemplate.metadata.annotations of the CronJob, ' +
      'which is not copied to its pods; write it into ' +
      'spec.jobTemplate.spec.template.metadata.annotations',
  ],
  'of a MiniCluster, misspelt': [
    'apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\n' +
      'metadata: {name: a, annotations: {ridealong.dev/injct: "true"}}\n' +
      'spec: {size: 2, containers: [{image: a}]}\n',
    'annotation "ridealong.dev/injct" (did you mean ridealong.dev/inject?) is in ' +
      'metadata.annotations of the MiniCluster, which is not copied to its pods; write it into ' +
      'spec.pod.annotations',
  ],
}

for (const [what, [text, sentence]] of Object.entries(MISPLACED)) {
  t.test(`an annotation ${what} is named with the right place`, async (t) => {
    t.strictSame(misplacedIn(text), [sentence])
  })
}

t.test('annotations that reach the pods, and those of others, are not misplaced', async (t) => {
  const metadata = `metadata: {name: a, annotations: ${INJECT}}`
  t.strictSame(misplacedIn(`apiVersion: v1\nkind: Pod\n${metadata}\n${POD}\n`), [])
  t.strictSame(
    misplacedIn(
      'apiVersion: batch/v1\nkind: Job\nmetadata: {annotations: {linkerd.io/inject: enabled}}\n' +
        `spec: {template: {${metadata}, ${POD}}}\n`,
    ),
    [],
  )
})

/** Keys of annotations, and the key that is suggested; undefined if nothing is said. */
const KEYS: readonly (readonly [string, string | undefined])[] = [
  ['ridealong.dev/injct', 'ridealong.dev/inject'],
  ['ridealong.io/inject', 'ridealong.dev/inject'],
  ['ridealong/inject', 'ridealong.dev/inject'],
  ['ridalong.dev/inject', 'ridealong.dev/inject'],
  ['Ridealong.dev/Inject', 'ridealong.dev/inject'],
  ['ridealong.dev/inject', undefined],
  ['ridealong.dev/status', undefined],
  ['perf-sysstat.ridealong.dev/rate', undefined],
  ['linkerd.io/inject', undefined],
  ['sidecar.istio.io/inject', undefined],
  ['description', undefined],
]

for (const [key, meant] of KEYS) {
  t.test(`the annotation ${key} ${meant === undefined ? 'is not' : 'is'} misspelt`, async (t) => {
    const sentence = `annotation "${key}" (did you mean ${meant}?) of the pod is unknown`
    const found = listMisspeltKeys({ annotations: { [key]: 'true' } }, 'the pod')
    t.strictSame(found, meant === undefined ? [] : [sentence])
  })
}

t.test('inject among the labels is named', async (t) => {
  t.strictSame(listMisspeltKeys({ labels: { 'ridealong.dev/inject': 'true' } }, 'the pod'), [
    'ridealong.dev/inject is a label of the pod, and must be an annotation',
  ])
})

t.test('explain says why a pod with a misspelt annotation requests no metric', async (t) => {
  const { reason, conclusion, findings } = explained(podOf({ 'ridealong.dev/injct': 'true' }))
  const sentence =
    'neither the pod nor its namespace requests a metric; annotation "ridealong.dev/injct" ' +
    '(did you mean ridealong.dev/inject?) of the pod is unknown'
  t.equal(reason, 'not-asked')
  t.equal(conclusion, `The pod would be created without observers: ${sentence}.`)
  t.match(
    findings.find(({ name }) => name === 'asks'),
    { verdict: 'no', sentence },
  )
})

t.test('explain names a misplaced annotation also if the pod requests a metric', async (t) => {
  const annotations = { 'ridealong.dev/inject': 'perf-sysstat', 'ridealong.io/mode': 'container' }
  const { outcome, findings } = explained(podOf(annotations))
  t.equal(outcome, 'injected')
  t.match(
    findings.find(({ name }) => name === 'keys'),
    { verdict: 'look', sentence: /"ridealong\.io\/mode" \(did you mean ridealong\.dev\/mode\?\)/ },
  )
})
