import { kindsIn, pathOfVersion, type ServedKind } from '../../src/cluster/discovery.ts'
import { asText, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { didYouMean } from '../../src/core/text/similar.ts'
import { UsageError } from '../shared/errors.ts'
import type { Reader } from '../shared/reader.ts'

/**
 * Reads the namespaced kinds that a cluster serves. The core group is first; the other groups
 * follow in the order of the cluster, each in its preferred version.
 */
export async function readKinds({ get, look }: Reader): Promise<readonly ServedKind[]> {
  const listed = listOrNone((await get('/apis'))?.groups).map(fieldsOrNone)
  const versions = listed.flatMap(({ preferredVersion }) => {
    return asText(fieldsOrNone(preferredVersion).groupVersion) ?? []
  })
  // If an aggregated API server is unavailable, the kinds of the other groups are still returned.
  const lists = await Promise.all(versions.map((version) => look(pathOfVersion(version))))
  const others = lists.map((list) => ('value' in list ? list.value : undefined))
  const core = kindsIn('v1', await get('/api/v1'))
  return [...core, ...versions.flatMap((version, index) => kindsIn(version, others[index]))]
}

/**
 * Finds a kind by its name, its plural, its singular or a short name, optionally followed by a dot
 * and its group.
 *
 * @throws UsageError if the cluster serves no namespaced kind of this name
 */
export function kindNamed(kinds: readonly ServedKind[], word: string): ServedKind {
  const [name = '', ...group] = word.toLowerCase().split('.')
  const found = kinds.find((kind) => {
    return kind.names.includes(name) && (group.length === 0 || kind.group === group.join('.'))
  })
  if (found !== undefined) return found
  const suggestion = didYouMean(
    name,
    kinds.map(({ kind }) => kind.toLowerCase()),
  )
  throw new UsageError(
    `the cluster has no namespaced kind "${word}"${suggestion}; ` +
      'kubectl api-resources lists its kinds',
  )
}
