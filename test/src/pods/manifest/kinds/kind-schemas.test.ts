import t from 'tap'
import type { Fields } from '../../../../../src/core/kubernetes/json.ts'
import { annotate, unannotate } from '../../../../../src/pods/manifest/annotate.ts'
import { isKept, readDefinition } from '../../../../../src/pods/manifest/kinds/kind-schemas.ts'
import { findMissedPods } from '../../../../../src/pods/manifest/missed-pods.ts'
import { readManifests } from '../../../../../src/pods/manifest/read.ts'

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } }
const CONTAINERS = {
  type: 'array',
  items: { type: 'object', properties: { name: { type: 'string' }, image: { type: 'string' } } },
}
const METADATA = { type: 'object', properties: { annotations: TEXTS, labels: TEXTS } }

/** The schema of a map. */
function map(properties: Fields): Fields {
  return { type: 'object', properties }
}

/** The schema of a pod template, with the schema of its metadata. */
function template(metadata: Fields = METADATA): Fields {
  return map({ metadata, spec: map({ containers: CONTAINERS, nodeSelector: TEXTS }) })
}

/** Annotates an object of a kind with this schema of its spec. */
function annotated(spec: Fields, rest: string) {
  const text = `apiVersion: example.com/v1\nkind: Thing\n${rest}\n`
  const schemas = new Map([['example.com/v1/Thing', map({ spec })]])
  const all = readManifests('a.yaml', text).map((manifest) => {
    return annotate({ ...manifest, schemas }, { 'ridealong.dev/inject': 'true' }, false)
  })
  const out = all.map((one) => one.text).join('')
  const { notes, isAnyMissed } = findMissedPods(
    all.flatMap(({ objects }) => objects),
    'annotated',
  )
  t.equal(readManifests('a.yaml', out).map((one) => unannotate(one, false)).length, 1)
  return { out, notes: notes.join('\n'), isAnyMissed }
}

const POD = '{spec: {containers: [{name: a, image: b}]}}'

t.test('a pod template without containers is annotated if the schema shows it', async (t) => {
  const schema = map({ components: { type: 'array', items: map({ podTemplate: template() }) } })
  const items = `[{podTemplate: ${POD}}, {podTemplate: {spec: {nodeSelector: {a: b}}}}]`
  const { out, notes, isAnyMissed } = annotated(schema, `spec: {components: ${items}}`)
  t.equal(out.split('ridealong.dev/inject').length - 1, 2)
  t.match(notes, 'annotated: spec.components[0].podTemplate, spec.components[1].podTemplate; its')
  t.notOk(isAnyMissed)
})

t.test('a template whose annotations the apiserver would remove is named', async (t) => {
  const schema = map({ a: template(), b: template({ type: 'object' }) })
  const { out, notes, isAnyMissed } = annotated(schema, `spec: {a: ${POD}, b: ${POD}}`)
  t.match(out, 'a: {metadata: {annotations: {ridealong.dev/inject: "true"}}, spec')
  t.match(out, `b: ${POD}`)
  t.match(notes, 'annotated: spec.a; not annotated: spec.b; ')
  t.ok(isAnyMissed)
})

t.test('annotations of pods are written where the schema has a field for them', async (t) => {
  const role = map({
    podAnnotations: TEXTS,
    sidecars: CONTAINERS,
    podDisruptionBudget: map({ annotations: TEXTS }),
  })
  const schema = map({ jobManager: role, taskManager: role, podMetadata: METADATA, other: role })
  const sidecars = 'sidecars: [{name: s, image: i}]'
  const { out, notes, isAnyMissed } = annotated(
    schema,
    `spec: {jobManager: {podAnnotations: {a: b}}, taskManager: {${sidecars}}}`,
  )
  const asks = 'ridealong.dev/inject: "true"'
  t.match(out, `jobManager: {podAnnotations: {a: b, ${asks}}}`)
  t.match(out, `taskManager: {${sidecars}, podAnnotations: {${asks}}}`)
  t.match(out, `podMetadata: {annotations: {${asks}}}`)
  t.equal(out.split(asks).length - 1, 3)
  t.match(notes, 'annotated: spec.jobManager.podAnnotations, spec.taskManager.podAnnotations, ')
  t.notOk(isAnyMissed, 'the sidecars are in the pods of the task manager')
})

t.test('annotations of pods count for the containers beside them and one map below', async (t) => {
  const schema = map({ podAnnotations: TEXTS })
  const list = 'containers: [{image: i}]'
  for (const covered of [list, `podSpec: {${list}}`])
    t.notOk(annotated(schema, `spec: {podAnnotations: {}, ${covered}}`).isAnyMissed, covered)
  for (const [other, field] of [
    [`backup: {cronJob: {${list}}}`, 'spec.backup.cronJob.containers'],
    [`workers: [{${list}}]`, 'spec.workers[0].containers'],
  ]) {
    const { notes, isAnyMissed } = annotated(schema, `spec: {podAnnotations: {}, ${other}}`)
    t.match(notes, `annotated: spec.podAnnotations; not annotated: ${field}; `)
    t.ok(isAnyMissed)
  }
})

t.test('no map is created that lacks a required field', async (t) => {
  const nothing = 'spec: {replicas: 1}'
  const needs = (required: readonly string[], metadata: Fields = METADATA) => {
    return map({ podTemplate: { ...map({ metadata, spec: map({}) }), required } })
  }
  const incomplete = [
    map({ podAnnotations: { ...TEXTS, required: ['a'] } }),
    needs(['spec']),
    needs([], { ...METADATA, required: ['labels'] }),
  ]
  for (const schema of incomplete) {
    const { out, notes, isAnyMissed } = annotated(schema, nothing)
    t.notMatch(out, 'ridealong.dev')
    t.match(notes, /not annotated: spec\.pod\S*annotations;/i)
    t.ok(isAnyMissed)
  }
  t.match(annotated(needs(['metadata']), nothing).out, 'podTemplate: ', 'it is what is created')
  t.match(annotated(needs(['spec']), 'spec: {podTemplate: {}}').out, 'podTemplate: {metadata: ')
  const { out } = annotated(
    needs([], { ...METADATA, required: ['labels'] }),
    'spec: {podTemplate: {}}',
  )
  t.notMatch(out, 'ridealong.dev', 'its metadata would lack labels')
})

t.test('the metadata of pods is found also without the spec of the pods', async (t) => {
  const pod = map({ metadata: METADATA, affinity: { type: 'object' } })
  const schema = map({ kafka: map({ replicas: { type: 'integer' }, template: map({ pod }) }) })
  const { out, notes } = annotated(schema, 'spec: {kafka: {template: {pod: {affinity: {}}}}}')
  t.match(out, 'pod: {affinity: {}, metadata: {annotations: {ridealong.dev/inject: "true"}}}')
  t.match(notes, 'annotated: spec.kafka.template.pod.metadata.annotations; ')
  const without = annotated(schema, 'spec: {kafka: {replicas: 3}}')
  t.notMatch(without.out, 'ridealong.dev', 'no section of the object is added')
})

t.test('a field is kept if the schema declares it or preserves unknown fields', async (t) => {
  const kept = { 'x-kubernetes-preserve-unknown-fields': true }
  const schema = map({
    texts: TEXTS,
    plain: { type: 'object' },
    list: { type: 'array', items: { type: 'object', ...kept } },
    inner: { ...map({ declared: { type: 'object' } }), ...kept },
    whole: { type: 'object', 'x-kubernetes-embedded-resource': true },
    any: { type: 'object', additionalProperties: true },
  })
  for (const path of [
    ['texts', 'a.b/c'],
    ['list', 0, 'metadata', 'annotations', 'a'],
    ['inner', 'other', 'a'],
    ['whole', 'metadata', 'annotations', 'a'],
    ['any', 'a', 'b'],
  ])
    t.ok(isKept(schema, path), path.join('.'))
  for (const path of [['plain', 'a'], ['inner', 'declared', 'a'], ['whole', 'spec'], ['none']])
    t.notOk(isKept(schema, path), path.join('.'))
})

t.test(
  'annotations of objects inside are kept by a schema as the apiserver serves it',
  async (t) => {
    const metadata = {
      $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
    }
    const inner = map({ apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata })
    const schema = map({
      whole: {
        ...inner,
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      },
      declared: {
        ...map({ metadata: { type: 'object' }, spec: { type: 'object' } }),
        'x-kubernetes-embedded-resource': true,
      },
      reference: inner,
      described: map({ metadata: { allOf: [metadata], default: {} } }),
      restricted: map({ metadata: { type: 'object', allOf: [{ maxProperties: 1 }] } }),
    })
    const path = ['metadata', 'annotations', 'ridealong.dev/inject']
    for (const field of ['whole', 'declared', 'reference', 'described'])
      t.ok(isKept(schema, [field, ...path]), field)
    t.notOk(isKept(schema, ['restricted', ...path]))
    t.notOk(isKept(schema, ['declared', 'spec', 'a']))
    const { out, isAnyMissed } = annotated(schema, `spec: {whole: ${POD}}`)
    t.match(out, 'whole: {metadata: {annotations: {ridealong.dev/inject: "true"}}, spec')
    t.notOk(isAnyMissed)
  },
)

t.test('the schemas of a definition are those of its versions', async (t) => {
  const definition = {
    kind: 'CustomResourceDefinition',
    spec: {
      group: 'example.com',
      names: { kind: 'Thing' },
      versions: [{ name: 'v1', schema: { openAPIV3Schema: TEXTS } }, { name: 'v2' }],
    },
  }
  t.strictSame(readDefinition(definition), [['example.com/v1/Thing', TEXTS]])
  t.strictSame(readDefinition({ ...definition, kind: 'Other' }), [])
})
