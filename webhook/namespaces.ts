import { createHash } from 'node:crypto'
import { fieldsOrNone, listOrNone, textOf } from '../src/core/json.ts'
import { type Namespace, readNamespace } from '../src/core/namespace.ts'
import { readDocuments } from '../src/documents.ts'
import type { Check } from './status-app.ts'

/** Where the server learns what a namespace says. Never fails: a namespace unknown says nothing. */
export interface NamespaceSource {
  /**
   * @param mustAsk whether a pod is here because its namespace asks, so that one which does not is
   * perhaps known too late
   */
  find(name: string, mustAsk: boolean): Namespace | Promise<Namespace>
}

/** Namespaces that are followed for as long as a server runs. */
export interface FollowedNamespaces extends NamespaceSource {
  /** What stands in the way of knowing them as they are. */
  checks(): readonly Check[]
  stop(): void
}

/** Namespaces that were written down. */
export interface NamespaceFile extends NamespaceSource {
  readonly revision: string
  find(name: string): Namespace
}

/**
 * Reads Namespaces from a YAML or JSON file: several documents, a List as `kubectl get -o yaml`
 * prints it, or both.
 *
 * @throws an error that names the file and the document which is no Namespace
 */
export async function readNamespaceFile(path: string): Promise<NamespaceFile> {
  const objects = (await readDocuments(path)).flatMap((document, place) => {
    return itemsOf(document).map((object) => namedIn(path, place, object))
  })
  const revision = createHash('sha256').update(JSON.stringify(objects)).digest('hex')
  return { ...namespacesOf(objects), revision }
}

/** Looks namespaces up among objects. */
export function namespacesOf(objects: readonly (readonly [string, unknown])[]): {
  find(name: string): Namespace
} {
  const known = new Map(objects.map(([name, object]) => [name, readNamespace(name, object)]))
  return { find: (name) => known.get(name) ?? readNamespace(name, undefined) }
}

function itemsOf(document: unknown): readonly unknown[] {
  const { items } = fieldsOrNone(document)
  return items === undefined ? [document] : listOrNone(items)
}

function namedIn(path: string, place: number, object: unknown): readonly [string, unknown] {
  const { kind, metadata } = fieldsOrNone(object)
  const name = textOf(fieldsOrNone(metadata).name)
  if (kind !== 'Namespace' || name === undefined) {
    throw new Error(`${path}: document ${place + 1} holds what is no Namespace with a name`)
  }
  return [name, object]
}
