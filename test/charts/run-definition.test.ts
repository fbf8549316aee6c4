import fc from 'fast-check'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { asObjects, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { buildRunObject } from '../../src/runs/archive/run-object.ts'
import { HOSTILE } from '../src/runs/archive/archived.ts'
import { render, skip } from './programs.ts'

/** Returns the schema of the object Run in the chart. */
function runSchema(): Fields {
  const objects = parseAllDocuments(render(['archive.enabled=true'])).map((one) => one.toJS())
  const { spec } = objects.find((one) => one?.kind === 'CustomResourceDefinition')
  return fieldsOrNone(asObjects(spec.versions)[0]?.schema).openAPIV3Schema as Fields
}

/** Returns the fields of a value that a schema does not have: the apiserver drops them. */
function unknownFields(value: unknown, schema: Fields, place = ''): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((one) => unknownFields(one, fieldsOrNone(schema.items), `${place}[]`))
  if (typeof value !== 'object' || value === null) return []
  const known = fieldsOrNone(schema.properties)
  return Object.entries(value).flatMap(([key, own]) => {
    const inner = known[key]
    const path = `${place}.${key}`
    return inner === undefined ? [path] : unknownFields(own, fieldsOrNone(inner), path)
  })
}

t.test('the definition has all fields of a Run', { skip }, async (t) => {
  const schema = runSchema()
  const unknown = fc.sample(HOSTILE, 50).flatMap((card) => {
    const { spec, status } = buildRunObject(card, new Map(), 2_000_000)
    return unknownFields({ spec, status }, schema)
  })
  t.strictSame([...new Set(unknown)], [])
})
