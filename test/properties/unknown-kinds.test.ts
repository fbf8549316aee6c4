import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { asFields, type Fields } from '../../src/core/kubernetes/json.ts'
import { annotate } from '../../src/pods/manifest/annotate.ts'
import { isKept } from '../../src/pods/manifest/kinds/kind-schemas.ts'
import { formatPath, valueAt } from '../../src/pods/manifest/kinds/paths.ts'
import { findMissedPods, type MissedPods } from '../../src/pods/manifest/missed-pods.ts'
import { readManifests } from '../../src/pods/manifest/read.ts'
import type { Step } from '../../src/pods/manifest/yaml/nodes.ts'

const KEY = 'ridealong.dev/inject'

/** Fields of custom resources, and keys that a path does not show as they are. */
const keys = fc.constantFrom(
  ...['template', 'spec', 'replicas', 'podSpec', 'workers', 'inference', 'a', 'containers'],
  ...['status', 'metadata', 'x.y', 'é', '0', 'services', 'jobTemplate', 'items'],
)

const container = fc.record(
  { name: fc.constantFrom('main', 'b'), image: fc.constant('r/x:1'), args: fc.constant(['a']) },
  { requiredKeys: ['image'] },
)
const containers = fc.array(container, { minLength: 1, maxLength: 2 })

/** Things from which an operator could create pods, as it would need to know their kind. */
const pods = fc.oneof(
  fc.record(
    { metadata: fc.constantFrom({}, { labels: { a: 'b' } }), spec: fc.record({ containers }) },
    { requiredKeys: ['spec'] },
  ),
  fc.record({ replicas: fc.constant(2), spec: fc.record({ containers }) }),
  fc.record({ containers }),
  fc.record({ initContainers: containers, nodeSelector: fc.constant({ a: 'b' }) }),
  fc.record({
    apiVersion: fc.constantFrom('v1', 'example.com/v1'),
    kind: fc.constant('Pod'),
    spec: fc.record({ containers }),
  }),
)

const { tree } = fc.letrec<{ tree: unknown; branch: unknown; list: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { arbitrary: fc.constantFrom('text', 3, null, true, {}, []), weight: 2 },
    { arbitrary: pods, weight: 2 },
    { arbitrary: tie('branch'), weight: 4 },
    { arbitrary: tie('list'), weight: 2 },
  ),
  branch: fc.dictionary(keys, tie('tree'), { maxKeys: 3 }),
  list: fc.array(tie('tree'), { maxLength: 3 }),
}))

const rootKeys = fc.constantFrom('spec', 'inference', 'resource', 'data', 'template', 'containers')
const objects = fc.dictionary(rootKeys, tree, { minKeys: 1, maxKeys: 2 })

/** A list of containers, and the path of the innermost object that contains it. */
interface Found {
  readonly path: readonly Step[]
  readonly object: readonly Step[]
}

/** Returns the lists of containers in an object. */
function findContainers(value: unknown, { path, object }: Found): readonly Found[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => findContainers(item, { path: [...path, index], object }))
  const fields = asFields(value) ?? {}
  const own = typeof fields.kind === 'string' && asFields(fields.spec) ? path : object
  return Object.entries(fields).flatMap(([key, held]) => {
    const found = { path: [...path, key], object: own }
    const isHere = /containers$/i.test(key) && Array.isArray(held) && held.some(isContainer)
    return isHere ? [found] : findContainers(held, found)
  })
}

function isContainer(item: unknown): boolean {
  return typeof asFields(item)?.image === 'string'
}

/**
 * Builds a schema of a value that declares its fields, and of lists the fields of their first item.
 * The schema of metadata declares annotations, or no fields, as controller-gen does by default.
 */
function schemaOf(value: unknown, declaresAnnotations: boolean): Fields {
  if (Array.isArray(value)) return { type: 'array', items: schemaOf(value[0], declaresAnnotations) }
  const fields = asFields(value)
  if (fields === undefined) return { type: 'string' }
  const annotations = { type: 'object', additionalProperties: { type: 'string' } }
  const metadata = declaresAnnotations ? { properties: { annotations } } : {}
  const properties = Object.entries(fields).map(([key, held]) => {
    return [key, schemaOf(held, declaresAnnotations)]
  })
  return {
    type: 'object',
    properties: { metadata: { type: 'object', ...metadata }, ...Object.fromEntries(properties) },
  }
}

/** An object that was annotated, with what is known of it. */
interface Annotated {
  readonly fields: Fields
  /** The schema; undefined if it is not known. */
  readonly schema: Fields | undefined
  readonly after: unknown
  readonly missed: MissedPods
  /** The paths of the objects inside that are not valid. */
  readonly invalid: readonly string[]
}

function annotated(fields: Fields, schema: Fields | undefined): Annotated {
  const before = JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Thing', ...fields })
  const [read] = readManifests('a.json', before)
  assert.ok(read !== undefined)
  const schemas = new Map(schema === undefined ? [] : [['example.com/v1/Thing', schema]])
  const { text, objects, passedOver } = annotate({ ...read, schemas }, { [KEY]: 'true' }, false)
  return {
    fields,
    schema,
    after: readManifests('a.json', text)[0]?.value,
    missed: findMissedPods(objects, 'annotated'),
    invalid: passedOver.map(({ resource }) => formatPath(resource.path)),
  }
}

/** Returns what became of a list of containers: its template is annotated, or it is named. */
function outcomeOf({ path, object }: Found, { schema, after, missed, invalid }: Annotated) {
  const template = [...path.slice(0, -2), 'metadata', 'annotations', KEY]
  const isWritten = path.at(-2) === 'spec' && valueAt(after, template) === 'true'
  const isRemoved = schema !== undefined && object.length === 0 && !isKept(schema, template)
  if (isWritten) return isRemoved ? 'lost' : 'annotated'
  if (!isNamed(path.slice(object.length), missed) && !invalid.includes(formatPath(object)))
    return 'silent'
  return isRemoved ? 'named, as the apiserver would remove annotations' : 'named'
}

/** Reports whether a field itself, or the template with it, is named. */
function isNamed(field: readonly Step[], { isAnyMissed, notes }: MissedPods): boolean {
  const names = [field, field.slice(0, -2)].map(formatPath)
  const words = notes.flatMap((note) => note.split(/[,;]? /))
  return isAnyMissed && words.some((word) => names.includes(word))
}

const known = fc.constantFrom('nothing', 'annotations', 'no annotations')

t.test('each template of 5,000 objects of unknown kinds is annotated or named', async () => {
  const counts = new Map<string, number>()
  fc.assert(
    fc.property(objects, known, (fields, declared) => {
      const schema =
        declared === 'nothing' ? undefined : schemaOf(fields, declared === 'annotations')
      const object = annotated(fields, schema)
      for (const found of findContainers(fields, { path: [], object: [] })) {
        const outcome = outcomeOf(found, object)
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
        assert.ok(!['lost', 'silent'].includes(outcome), `${outcome}: ${formatPath(found.path)}`)
      }
    }),
    { numRuns: 5000 },
  )
  assert.equal(counts.size, 3)
  for (const [outcome, count] of counts) assert.ok(count > 300, `${outcome}: ${count}`)
})
