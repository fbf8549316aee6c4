import { describeFailure } from '../../src/cluster/api-error.ts'
import { kindsIn, pathOfVersion, type ServedKind } from '../../src/cluster/discovery.ts'
import { listPods } from '../../src/cluster/pods.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { didYouMean } from '../../src/core/text/similar.ts'
import { alike } from '../../src/pods/explain/alike-pods.ts'
import { listMisplacedKeys } from '../../src/pods/explain/mistaken-keys.ts'
import { readManifests } from '../../src/pods/manifest/read.ts'
import { findResources, type ManifestResource } from '../../src/pods/manifest/resources.ts'
import { startOwnerSearch } from '../../src/runs/collect/owned-pods.ts'
import type { WantedOwner } from '../../src/runs/collect/workload.ts'
import { UsageError } from '../shared/errors.ts'
import type { Reader } from '../shared/reader.ts'
import { aboutPod } from './about-pod.ts'
import type { About, CatalogLookup } from './explain-facts.ts'
import { aboutTemplates } from './explain-files.ts'

/**
 * Finds the pods to explain for an object in a cluster. The pods of the object are grouped by their
 * outcomes, and one pod of each group is explained. If the object has no pods yet, its pod
 * templates are explained.
 *
 * @param what KIND/NAME
 * @throws UsageError if the object does not exist, or has neither pods nor pod templates
 */
export async function aboutLive(
  reader: Reader,
  what: string,
  namespace: string,
  catalogFor: CatalogLookup,
): Promise<readonly About[]> {
  const [word = '', name = '', ...more] = what.split('/')
  if (name === '' || more.length > 0) {
    throw new UsageError(`"${what}" is not KIND/NAME, such as job/lammps`)
  }
  const kinds = await readKinds(reader)
  const kind = kindNamed(kinds, word)
  const list = `${kind.root}/namespaces/${encodeURIComponent(namespace)}/${kind.plural}`
  const object = await reader.get(`${list}/${encodeURIComponent(name)}`)
  const subject = `${kind.kind.toLowerCase()}/${name}`
  if (object === undefined) throw new UsageError(`there is no ${subject} in namespace ${namespace}`)
  if (kind.group === '' && kind.kind === 'Pod') return [aboutPod(object, subject)]
  const owner = { group: kind.group, kind: kind.kind, isExact: true, name }
  const pods = await findPods(reader, owner, namespace)
  const resources = readManifests(subject, JSON.stringify(object)).flatMap(findResources)
  return pods.length > 0
    ? aboutPods(pods, subject, resources.flatMap(listMisplacedKeys), catalogFor)
    : aboutObject(resources, subject)
}

/** Returns the pods that an object controls, directly or through other controllers. */
async function findPods(
  { apiserver }: Reader,
  owner: WantedOwner,
  namespace: string,
): Promise<readonly Fields[]> {
  try {
    const search = await startOwnerSearch({ apiserver, namespace }, { owner, through: undefined })
    return await listPods(apiserver, namespace, { by: 'namespace' }, search.filter)
  } catch (error) {
    throw new UsageError(describeFailure(error))
  }
}

function aboutPods(
  pods: readonly Fields[],
  subject: string,
  misplaced: readonly string[],
  catalogFor: CatalogLookup,
): readonly About[] {
  const groups = alike(pods, catalogFor)
  const said = groups.map(({ which, word }) => `${which}: ${word}`).join('; ')
  const differences = groups.length > 1 ? `the pods differ: ${said}` : undefined
  return groups.map(({ pods, which }) => {
    const about = aboutPod(pods[0], `${subject}, ${which}`)
    return { ...about, pods: pods.length, differences, misplaced }
  })
}

function aboutObject(resources: readonly ManifestResource[], subject: string): readonly About[] {
  const abouts = resources.flatMap((resource) => aboutTemplates(resource, resource.namespace))
  if (abouts.length === 0) {
    throw new UsageError(
      `${subject} has no pods yet, and no pod template that could be explained instead`,
    )
  }
  return abouts
}

/**
 * Reads the namespaced kinds that a cluster serves. The core group is first; the other groups
 * follow in the order of the cluster, each in its preferred version.
 */
async function readKinds({ get, look }: Reader): Promise<readonly ServedKind[]> {
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
function kindNamed(kinds: readonly ServedKind[], word: string): ServedKind {
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
