import { asFields, asObjects, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { readDefinition } from '../../src/pods/manifest/kinds/kind-schemas.ts'
import type { KindSchemas, Manifest } from '../../src/pods/manifest/read.ts'
import { findResources } from '../../src/pods/manifest/resources.ts'
import { readInput } from './input.ts'
import { type OptionalCluster, openOptionalReader, type Reader } from './reader.ts'
import type { Session } from './session.ts'

/** The sources of schemas, apart from the definitions among the manifests. */
export interface SchemaOptions extends OptionalCluster {
  /** Files of CustomResourceDefinitions. */
  readonly crds?: readonly string[]
}

/** Manifests with the schemas of their unknown kinds, and sentences about missing schemas. */
export interface ManifestsWithSchemas {
  readonly manifests: readonly Manifest[]
  readonly notes: readonly string[]
}

/**
 * Adds the schemas of unknown kinds to manifests: from the CustomResourceDefinitions in files and
 * among the manifests, otherwise from the cluster, if one is configured.
 *
 * @throws UsageError if a file cannot be read, or the cluster that an option names is invalid
 */
export async function addSchemas(
  manifests: readonly Manifest[],
  { crds, ...cluster }: SchemaOptions,
  { environment, stdin }: Pick<Session, 'environment' | 'stdin'>,
): Promise<ManifestsWithSchemas> {
  const files = crds === undefined ? [] : await readInput(crds, stdin)
  const definitions = [...manifests, ...files].flatMap(findResources)
  const schemas = new Map(definitions.flatMap(({ fields }) => readDefinition(fields)))
  const unknown = manifests.flatMap(findResources).filter(({ isUnknown }) => isUnknown)
  const versions = unknown
    .filter(({ fields, kind }) => !schemas.has(`${fields.apiVersion}/${kind}`))
    .map(({ fields }) => String(fields.apiVersion))
  const served = await readServed(new Set(versions), cluster, environment)
  const all = new Map([...served.schemas, ...schemas])
  return {
    manifests: manifests.map((manifest) => ({ ...manifest, schemas: all })),
    notes: served.problems,
  }
}

interface ServedSchemas {
  readonly schemas: KindSchemas
  readonly problems: readonly string[]
}

/** Matches the version of an API in a group. Kinds of the core group have no definitions. */
const GROUP_VERSION = /^[-a-z0-9.]+\/[a-z0-9]+$/

async function readServed(
  versions: ReadonlySet<string>,
  cluster: OptionalCluster,
  environment: NodeJS.ProcessEnv,
): Promise<ServedSchemas> {
  const valid = [...versions].filter((version) => GROUP_VERSION.test(version))
  const none = { schemas: new Map(), problems: [] }
  if (valid.length === 0) return none
  const opened = await openOptionalReader(cluster, environment)
  if (!('value' in opened) || opened.value === undefined) return none
  const { look } = opened.value
  const read = await Promise.all(valid.map((version) => readVersion(look, version)))
  return {
    schemas: new Map(read.flatMap(({ schemas }) => [...schemas])),
    problems: [...new Set(read.flatMap(({ problems }) => problems))],
  }
}

/** Reads the schemas of an API version, which every user may read (role system:discovery). */
async function readVersion(look: Reader['look'], version: string): Promise<ServedSchemas> {
  const read = await look(`/openapi/v3/apis/${version}`)
  if ('problem' in read)
    return {
      schemas: new Map(),
      problems: [`cannot read the schemas of the cluster: ${read.problem}`],
    }
  const { schemas } = fieldsOrNone(fieldsOrNone(read.value).components)
  const named = Object.values(fieldsOrNone(schemas)).flatMap((schema) => namesOf(schema))
  return { schemas: new Map(named), problems: [] }
}

function namesOf(value: unknown): readonly (readonly [string, Fields])[] {
  const schema = asFields(value)
  return asObjects(schema?.['x-kubernetes-group-version-kind']).flatMap(
    ({ group, version, kind }) =>
      schema === undefined ? [] : [[`${group}/${version}/${kind}`, schema] as const],
  )
}
