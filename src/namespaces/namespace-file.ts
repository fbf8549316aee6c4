import { createHash } from 'node:crypto'
import { fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Namespace, readNamespace } from '../core/namespace.ts'
import { readDocuments } from '../lib/read-documents.ts'
import { type NamespaceObject, readNamespaceObject } from './namespace-object.ts'

/** Namespaces that were written down. */
export interface NamespaceFile {
  readonly revision: string
  find(name: string): Namespace
}

/**
 * Reads Namespaces, and the LimitRanges and ResourceQuotas in them, from a YAML or JSON file:
 * several documents, a List as `kubectl get -o yaml` prints it, or both.
 *
 * @throws an error that names the file and the document which is none of these, and what it lacks
 */
export async function readNamespaceFile(path: string): Promise<NamespaceFile> {
  const objects = await readObjects(path)
  const revision = createHash('sha256').update(JSON.stringify(objects)).digest('hex')
  return { ...indexNamespaces(objects), revision }
}

/**
 * The names of the Namespaces in such a file.
 *
 * @throws an error that names the file and the document which does not hold
 */
export async function namespacesIn(path: string): Promise<readonly string[]> {
  const objects = await readObjects(path)
  return objects.filter(({ kind }) => kind === 'Namespace').map(({ namespace }) => namespace)
}

async function readObjects(path: string): Promise<readonly NamespaceObject[]> {
  return (await readDocuments(path)).flatMap((document, place) => {
    return readItems(document).map((object) => {
      const read = readNamespaceObject(object)
      if ('problem' in read) throw new Error(`${path}: document ${place + 1} ${read.problem}`)
      return read
    })
  })
}

/** Looks namespaces up among objects; of two Namespaces with one name the later counts. */
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
