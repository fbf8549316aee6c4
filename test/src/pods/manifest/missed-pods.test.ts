import t from 'tap'
import { annotate, unannotate } from '../../../../src/pods/manifest/annotate.ts'
import { findMissedPods } from '../../../../src/pods/manifest/missed-pods.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'

const ASK = { 'ridealong.dev/inject': 'true' }
const CONTAINERS = 'containers: [{name: a, image: b}]'
const TEMPLATE = `{spec: {${CONTAINERS}}}`

/** Annotates an object, and returns its text with the notes about missed pods. */
function annotated(rest: string, head = 'apiVersion: example.com/v1\nkind: Thing\n') {
  const text = `${head}${rest}\n`
  const all = readManifests('a.yaml', text).map((manifest) => annotate(manifest, ASK, false))
  const missed = findMissedPods(
    all.flatMap(({ objects }) => objects),
    'annotated',
  )
  const notes = missed.notes.map((note) => note.replace(/^a.yaml: document \d, line \d+: /, ''))
  return { ...missed, notes, text: all.map((one) => one.text).join('') }
}

const OTHER = 'its operator may also create pods from other fields'
const ALL = 'to observe all its pods, annotate the namespace'

/** Objects of an unknown kind, their annotated fields, and those that are named as missed. */
const OBJECTS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [`spec: {template: ${TEMPLATE}}`, ['spec.template'], []],
  [
    `spec: {template: {spec: {${CONTAINERS}, ephemeralContainers: [{name: c, image: d}]}}}`,
    ['spec.template'],
    [],
  ],
  [`inference: {template: ${TEMPLATE}}`, ['inference.template'], []],
  [`spec: {a: {b: [{c: ${TEMPLATE}}]}}`, ['spec.a.b[0].c'], []],
  [`containers: [{image: a}]`, [], ['containers']],
  [`spec: {${CONTAINERS}}`, [], ['spec.containers']],
  [`spec: {podSpec: {initC${CONTAINERS.slice(1)}}}`, [], ['spec.podSpec.initContainers']],
  [`spec: {main: {mainContainer: {image: a}}}`, [], ['spec.main.mainContainer']],
  [`spec: {sidecars: [{name: a, image: {name: b}}]}`, [], ['spec.sidecars']],
  [`spec: {template: {spec: {containers: [{image: b}]}}}`, [], ['spec.template.spec.containers']],
  [`spec: {template: {replicas: 2, spec: {${CONTAINERS}}}}`, [], ['spec.template.spec.containers']],
  [
    `spec: {components: [{podTemplate: ${TEMPLATE}}, {name: decode, replicas: 2}]}`,
    ['spec.components[0].podTemplate'],
    ['spec.components[1]'],
  ],
  [
    `spec: {a: ${TEMPLATE}, b: {podSpec: {${CONTAINERS}}}}`,
    ['spec.a'],
    ['spec.b.podSpec.containers'],
  ],
]

for (const [rest, changed, missed] of OBJECTS) {
  t.test(`${rest}: pod templates are annotated, and other containers are named`, async (t) => {
    const { notes, isAnyMissed, text } = annotated(rest)
    const parts = [
      ...(changed.length > 0 ? [`annotated: ${changed.join(', ')}`] : []),
      ...(missed.length > 0 ? [`not annotated: ${missed.join(', ')}`] : []),
      missed.length > 0 ? ALL : OTHER,
    ]
    t.strictSame(notes, [`Thing: this kind is unknown; ${parts.join('; ')}`])
    t.equal(isAnyMissed, missed.length > 0)
    t.equal(text.split('ridealong.dev/inject').length - 1, changed.length)
  })
}

t.test('other objects of unknown kinds get one note for each kind', async (t) => {
  const monitor = 'apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n'
  const spec = 'metadata: {name: m}\nspec: {selector: {}}'
  const { notes, isAnyMissed, isAnyUnknown } = annotated(
    `${spec}\n---\n${monitor}${spec}\n---\napiVersion: flink.k8s.io/v1\nkind: FlinkJob`,
    monitor,
  )
  const advice = 'if its operator creates pods, annotate the namespace instead'
  t.strictSame(notes, [
    `ServiceMonitor m: this kind is unknown, and its 2 objects have no pod template; ${advice}`,
    `FlinkJob: this kind is unknown, and the object has no pod template; ${advice}`,
  ])
  t.strictSame({ isAnyMissed, isAnyUnknown }, { isAnyMissed: false, isAnyUnknown: true })
})

t.test('kinds of Kubernetes and known kinds are not named', async (t) => {
  const config = 'apiVersion: v1\nkind: ConfigMap\n'
  t.match(annotated('data: {}', config), { notes: [], isAnyUnknown: false })
  const job = 'apiVersion: batch/v1\nkind: Job\n'
  t.match(annotated(`spec: {template: ${TEMPLATE}}`, job), { notes: [], isAnyUnknown: false })
  const pod = 'apiVersion: v1\nkind: Pod\n'
  t.match(annotated(`spec: {${CONTAINERS}}`, pod), { notes: [], isAnyUnknown: false })
})

t.test('a template without containers beside others is named, also of a known kind', async (t) => {
  const ray = 'apiVersion: ray.io/v1\nkind: RayCluster\n'
  const groups = `[{template: ${TEMPLATE}}, {template: {spec: {containers: [{image: a}]}}}]`
  const { notes, isAnyMissed } = annotated(`spec: {workerGroupSpecs: ${groups}}`, ray)
  t.strictSame(notes, [
    'RayCluster: annotated: spec.workerGroupSpecs[0].template; ' +
      `not annotated: spec.workerGroupSpecs[1].template; ${ALL}`,
  ])
  t.ok(isAnyMissed)
})

t.test('objects inside an object of an unknown kind are annotated by their kinds', async (t) => {
  const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {${CONTAINERS}}}`
  const flux = '{apiVersion: flux-framework.org/v1alpha2, kind: MiniCluster, spec: {size: 2}}'
  const target = '{apiVersion: apps/v1, kind: Deployment, name: a}'
  const { notes, isAnyMissed, text } = annotated(
    `spec: {manifests: [${pod}, ${flux}], target: ${target}}`,
  )
  t.match(text, 'metadata: {name: a, annotations: {ridealong.dev/inject: "true"}}')
  t.match(text, 'spec: {size: 2, pod: {annotations: {ridealong.dev/inject: "true"}}}')
  t.equal(notes.length, 1, 'the object around them is named')
  t.notOk(isAnyMissed)
})

t.test('annotations are removed only from maps where annotate writes them', async (t) => {
  const asks = 'annotations: {ridealong.dev/inject: "true"}'
  const space = `{apiVersion: v1, kind: Namespace, metadata: {name: a, ${asks}}, spec: {}}`
  const flux = (pod: string) =>
    `{apiVersion: flux-framework.org/v1alpha2, kind: MiniCluster, metadata: {${asks}}, ` +
    `spec: {size: 2${pod}}}`
  const text = (own: string, pod: string) =>
    `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, ${asks}}\n` +
    `spec: {name: b${own}, objects: [${space}, ${flux(pod)}]}\nstatus: {${asks}}\n`
  const removed = (one: string, namespaces: boolean) =>
    readManifests('a.yaml', one).map((manifest) => unannotate(manifest, namespaces))
  const before = text(`, podMetadata: {${asks}}`, `, pod: {${asks}}`)
  t.strictSame(removed(before, false), [text('', '')])
  t.match(removed(before, true), [/kind: Namespace, metadata: \{name: a\}/])
})

t.test('the items of a list of one kind need no kind of their own', async (t) => {
  const list = 'apiVersion: batch/v1\nkind: JobList\n'
  const { text } = annotated(`items: [{metadata: {name: a}, spec: {template: ${TEMPLATE}}}]`, list)
  t.match(text, 'ridealong.dev/inject')
})

t.test('a list without items is no object of an unknown kind', async (t) => {
  for (const [head, rest] of [
    ['apiVersion: v1\nkind: List\n', 'items: null'],
    ['apiVersion: v1\nkind: List\n', 'metadata: {}'],
    ['apiVersion: batch/v1\nkind: JobList\n', 'items:'],
  ])
    t.match(annotated(rest ?? '', head), { notes: [], isAnyUnknown: false }, `${head}${rest}`)
  const allowed = annotated('spec: {}', 'apiVersion: example.com/v1\nkind: AllowList\n')
  t.ok(allowed.isAnyUnknown, 'a kind whose name ends with List')
})

t.test('many fields are named in several sentences', async (t) => {
  const items = Array.from({ length: 50 }, () => `{podSpec: {${CONTAINERS}}}`)
  const { notes } = annotated(`spec: {groups: [${items.join(', ')}]}`)
  for (const index of items.keys())
    t.match(notes.join('\n'), `spec.groups[${index}].podSpec.containers`)
  t.ok(notes.every((note) => note.length < 2000))
})
