import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { asFields } from '../../src/core/kubernetes/json.ts'
import { annotate } from '../../src/pods/manifest/annotate.ts'
import { formatPath, valueAt } from '../../src/pods/manifest/kinds/paths.ts'
import { findMissedPods } from '../../src/pods/manifest/missed-pods.ts'
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
    { depthSize: 'medium', withCrossShrink: true },
    { arbitrary: fc.constantFrom('text', 3, null, true, {}, []), weight: 2 },
    { arbitrary: pods, weight: 2 },
    { arbitrary: tie('branch'), weight: 4 },
    { arbitrary: tie('list'), weight: 2 },
  ),
  branch: fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
  list: fc.array(tie('tree'), { maxLength: 3 }),
}))

const rootKeys = fc.constantFrom('spec', 'inference', 'resource', 'data', 'template', 'containers')
const objects = fc.dictionary(rootKeys, tree, { minKeys: 1, maxKeys: 3 })

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

t.test('each template of 5,000 objects of unknown kinds is annotated or named', async () => {
  const counts = { annotated: 0, named: 0 }
  fc.assert(
    fc.property(objects, (fields) => {
      const before = JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Thing', ...fields })
      const [manifest] = readManifests('a.json', before)
      assert.ok(manifest !== undefined)
      const { text, objects, passedOver } = annotate(manifest, { [KEY]: 'true' }, false)
      const [after] = readManifests('a.json', text)
      const missed = findMissedPods(objects, 'annotated')
      const invalid = passedOver.map(({ resource }) => formatPath(resource.path))
      for (const { path, object } of findContainers(fields, { path: [], object: [] })) {
        const template = [...path.slice(0, -2), 'metadata', 'annotations', KEY]
        const isAnnotated = path.at(-2) === 'spec' && valueAt(after?.value, template) === 'true'
        const field = formatPath(path.slice(object.length))
        const isNamed = missed.notes.some((note) => note.split(/[,;]? /).includes(field))
        const isInvalid = invalid.includes(formatPath(object))
        counts[isAnnotated ? 'annotated' : 'named'] += 1
        assert.ok(isAnnotated || isInvalid || (isNamed && missed.isAnyMissed), field)
      }
    }),
    { numRuns: 5000 },
  )
  assert.ok(counts.annotated > 500 && counts.named > 500, JSON.stringify(counts))
})
