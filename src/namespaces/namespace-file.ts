import { createHash } from 'node:crypto'
import { fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Namespace, readNamespace } from '../core/namespaces/namespace.ts'
import { readText } from '../lib/read-text.ts'
import { parseDocuments } from '../pods/manifest/parse-documents.ts'
import { type NamespaceObject, readNamespaceObject } from './namespace-object.ts'

/** The Namespaces of a file. */
export interface NamespaceFile {
  /** A hash of the objects in the file. */
  readonly revision: string
  /**
   * Returns a Namespace with its LimitRanges and ResourceQuotas. If the file does not contain the
   * Namespace itself, the result has no labels and annotations.
   */
  find(name: string): Namespace
}

/**
 * Reads Namespaces, and their LimitRanges and ResourceQuotas, from a YAML or JSON file. The file
 * contains single objects, Lists as printed by `kubectl get -o yaml`, or both.
 *
 * @throws an error that names the file and the invalid document. A document is invalid if it has a
 * syntax error, or if one of its objects has any other kind, lacks its name or namespace, or has an
 * amount that is not a quantity.
 */
export async function readNamespaceFile(path: string): Promise<NamespaceFile> {
  const objects = await readObjects(path)
  const revision = createHash('sha256').update(JSON.stringify(objects)).digest('hex')
  return { ...indexNamespaces(objects), revision }
}

/**
 * Returns the names of the Namespaces in a file that `readNamespaceFile` can read.
 *
 * @throws an error that names the file and the invalid document
 */
export async function namespacesIn(path: string): Promise<readonly string[]> {
  const objects = await readObjects(path)
  return objects.filter(({ kind }) => kind === 'Namespace').map(({ namespace }) => namespace)
}

async function readObjects(path: string): Promise<readonly NamespaceObject[]> {
  return parseDocuments(path, await readText(path)).flatMap((document, place) => {
    return readItems(document).map((object) => {
      const read = readNamespaceObject(object)
      if ('problem' in read) throw new Error(`${path}: document ${place + 1} ${read.problem}`)
      return read
    })
  })
}

/** Indexes objects by namespace. If two Namespaces have the same name, the later one is used. */
export function indexNamespaces(objects: readonly NamespaceObject[]): {
  find(name: string): Namespace
} {
  const grouped = new Map<string, NamespaceObject[]>()
  for (const object of objects) {
    const own = grouped.get(object.namespace)
    if (own === undefined) grouped.set(object.namespace, [object])
    else own.push(object)
  }
  const known = new Map([...grouped].map(([name, own]) => [name, readGroup(name, own)]))
  return { find: (name) => known.get(name) ?? readNamespace(name, undefined) }
}

function readGroup(name: string, own: readonly NamespaceObject[]): Namespace {
  const of = (wanted: NamespaceObject['kind']) =>
    own.filter(({ kind }) => kind === wanted).map(({ object }) => object)
  return readNamespace(name, of('Namespace').at(-1), {
    limitRanges: of('LimitRange'),
    resourceQuotas: of('ResourceQuota'),
  })
}

function readItems(document: unknown): readonly unknown[] {
  const { items } = fieldsOrNone(document)
  return items === undefined ? [document] : listOrNone(items)
}
