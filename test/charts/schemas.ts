import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Fields, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { run } from '../cluster/machine/tools.ts'

/**
 * The template of the file name that kubeconform expects for the schema of a kind (option
 * --schema-location). For the apiVersion `v1`, kubeconform uses `v1` as the group too.
 */
export const SCHEMA_NAME = '{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json'

/**
 * Returns the folder with the source of a Go module. A missing module is downloaded, and verified
 * by Go's checksum database.
 */
export async function downloadModule(path: string, version: string): Promise<string> {
  const found = await run('go', ['mod', 'download', '-json', `${path}@${version}`])
  return String(fieldsOrNone(JSON.parse(found)).Dir)
}

/**
 * Writes a JSON Schema for each of these kinds, from the OpenAPI document in the source of a
 * version of Kubernetes.
 */
export function writeKubernetesSchemas(
  source: string,
  folder: string,
  kinds: ReadonlySet<string>,
): void {
  const path = join(source, 'api/openapi-spec/swagger.json')
  const definitions = fieldsOrNone(closed(JSON.parse(readFileSync(path, 'utf8')).definitions))
  for (const [name, definition] of Object.entries(definitions)) {
    const meanings = listOrNone(fieldsOrNone(definition)['x-kubernetes-group-version-kind'])
    for (const { group, version, kind } of meanings.map(fieldsOrNone)) {
      if (!kinds.has(`${kind}`)) continue
      const $ref = `#/definitions/${name}`
      write(folder, [kind, group, version], { $ref, definitions: reachable(name, definitions) })
    }
  }
}

/**
 * Returns a definition and all definitions that it refers to, because kubeconform needs them in one
 * file.
 */
function reachable(name: string, definitions: Fields): Fields {
  const found = new Map<string, unknown>()
  const visit = (each: string) => {
    if (found.has(each)) return
    found.set(each, definitions[each])
    const references = JSON.stringify(definitions[each]).matchAll(/"#\/definitions\/([^"]+)"/g)
    for (const [, next = ''] of references) visit(next)
  }
  visit(name)
  return Object.fromEntries(found)
}

/** Writes a JSON Schema for each kind that the CustomResourceDefinitions of a folder define. */
export function writeCustomSchemas(source: string, folder: string): void {
  for (const name of readdirSync(source).filter((file) => file.endsWith('.yaml'))) {
    const { group, names, versions } = fieldsOrNone(
      fieldsOrNone(parse(readFileSync(join(source, name), 'utf8'))).spec,
    )
    for (const version of listOrNone(versions).map(fieldsOrNone)) {
      const schema = fieldsOrNone(closed(fieldsOrNone(version.schema).openAPIV3Schema))
      const properties = { ...fieldsOrNone(schema.properties), metadata: { type: 'object' } }
      write(folder, [fieldsOrNone(names).kind, group, version.name], { ...schema, properties })
    }
  }
}

function write(folder: string, [kind, group, version]: readonly unknown[], schema: Fields): void {
  mkdirSync(folder, { recursive: true })
  const name = `${kind}-${group || version}-${version}.json`.toLowerCase()
  writeFileSync(join(folder, name), JSON.stringify(schema))
}

/** Forbids keys that a schema does not name, because the apiserver would drop them silently. */
function closed(schemas: unknown): unknown {
  return JSON.parse(JSON.stringify(schemas), (_, value) => {
    const { type, format, properties, additionalProperties, ...others } = fieldsOrNone(value)
    const isEither = format === 'int-or-string' || others['x-kubernetes-int-or-string'] === true
    if (isEither) return { type: ['integer', 'string'] }
    const isOpen = additionalProperties || others['x-kubernetes-preserve-unknown-fields']
    if (type !== 'object' || properties === undefined || isOpen) return value
    return { ...value, additionalProperties: false }
  })
}
