import type { Collection } from '../../../src/cluster/reflect/reflector.ts'
import { fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { type ArchivedRun, readArchivedRun } from '../../../src/runs/archive/archived-run.ts'
import { collectKeys } from './watched-keys.ts'

/** The objects Run that exist, as far as the watch shows. */
export interface RunIndex {
  find(namespace: string, name: string): ArchivedRun | undefined
  /** Returns the runs of a namespace. */
  of(namespace: string): readonly ArchivedRun[]
  all(): readonly ArchivedRun[]
  /** Creates the collection of one watch. */
  collect(): Collection<ArchivedRun>
}

const keyOf = ({ namespace, name }: ArchivedRun) => `${namespace}/${name}`

export const readIndexed = (object: unknown) => readArchivedRun(fieldsOrNone(object))

export function createRunIndex(): RunIndex {
  const byNamespace = new Map<string, Map<string, ArchivedRun>>()
  const put = (run: ArchivedRun) => {
    const own = byNamespace.get(run.namespace) ?? new Map<string, ArchivedRun>()
    byNamespace.set(run.namespace, own.set(run.name, run))
  }
  const lose = (key: string) => {
    const [namespace = '', name = ''] = key.split('/')
    const own = byNamespace.get(namespace)
    own?.delete(name)
    if (own?.size === 0) byNamespace.delete(namespace)
  }
  const of = (namespace: string) => [...(byNamespace.get(namespace)?.values() ?? [])]
  return {
    find: (namespace, name) => byNamespace.get(namespace)?.get(name),
    of,
    all: () => [...byNamespace.keys()].flatMap(of),
    collect: () => collectKeys({ keyOf, put, lose }),
  }
}
