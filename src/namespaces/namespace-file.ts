import { createHash } from 'node:crypto'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { unreadableIn } from '../core/kubernetes/resource-list.ts'
import { type Namespace, readNamespace } from '../core/namespaces/namespace.ts'
import { readText } from '../lib/read-text.ts'
import { parseDocuments } from '../pods/manifest/parse-documents.ts'

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

/** A Namespace, a LimitRange or a ResourceQuota. */
interface NamespaceObject {
  readonly kind: (typeof KINDS)[number]
  /** The name of the Namespace, or the namespace of the object. */
  readonly namespace: string
  readonly object: unknown
}

const KINDS = ['Namespace', 'LimitRange', 'ResourceQuota'] as const

/**
 * Determines the kind and the namespace of an object.
 *
 * @returns the object, or the problem that makes it invalid, as the rest of a sentence about its
 * document
 */
export function readNamespaceObject(
  object: unknown,
): NamespaceObject | { readonly problem: string } {
  const { kind: written, metadata, spec, status } = fieldsOrNone(object)
  const kind = KINDS.find((known) => known === written)
  if (kind === undefined) {
    return { problem: 'is not a Namespace, LimitRange or ResourceQuota' }
  }
  const key = kind === 'Namespace' ? 'name' : 'namespace'
  const namespace = asText(fieldsOrNone(metadata)[key])
  if (namespace === undefined) return { problem: `is a ${kind} without metadata.${key}` }
  const wrong = kind === 'Namespace' ? undefined : unreadableAmong(readLists(spec, status))
  if (wrong === undefined) return { kind, namespace, object }
  return { problem: `is a ${kind} whose amount of ${wrong} is not a quantity, such as 500m or 2Gi` }
}

/** Returns the ResourceLists of a LimitRange or a ResourceQuota. */
function readLists(spec: unknown, status: unknown): readonly unknown[] {
  const { limits, hard } = fieldsOrNone(spec)
  const { hard: enforced, used } = fieldsOrNone(status)
  const items = listOrNone(limits).map(fieldsOrNone)
  return [hard, enforced, used, ...items.flatMap(listsOfItem)]
}

function listsOfItem({ min, max, default: limit, defaultRequest, ...more }: Fields): unknown[] {
  return [min, max, limit, defaultRequest, more.maxLimitRequestRatio]
}

function unreadableAmong(lists: readonly unknown[]): string | undefined {
  return lists.map((list) => unreadableIn(fieldsOrNone(list))).find((name) => name !== undefined)
}
