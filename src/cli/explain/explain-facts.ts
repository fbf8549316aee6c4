import { type Catalog, PRIVILEGES } from '../../core/catalog.ts'
import { asObjects, type Fields } from '../../core/kubernetes/json.ts'
import { readServerVersion } from '../../core/kubernetes/server-version.ts'
import { readNamespace } from '../../core/namespaces/namespace.ts'
import type { Settings } from '../../core/review-pod.ts'
import {
  type Release,
  readCatalog,
  readHeldImages,
  servedOption,
} from '../../doctor/installation.ts'
import type { FactLookup, Facts } from '../../explain/facts.ts'
import { comparable } from '../../explain/injection-outcome.ts'
import type { Reader } from '../shared/reader.ts'
import { readRelease } from '../shared/release-facts.ts'
import { type KnownSettings, readSettings, type SettingOptions } from '../shared/settings.ts'
import { readWebhookFacts } from '../shared/webhook-facts.ts'

export interface FactOptions extends SettingOptions {
  readonly webhookConfiguration?: string | undefined
}

/** The facts about a pod, without the facts about its namespace and its cluster. */
export type About = Pick<
  Facts,
  'subject' | 'review' | 'isTemplate' | 'created' | 'pods' | 'differences'
>

/** Functions that use the facts that all explained pods have in common. */
export interface Common {
  /** Combines the facts about a pod with the facts about its namespace and its cluster. */
  readonly factsOf: (about: About) => Promise<Facts>
  /** Returns the catalog to compare a pod's containers with; undefined to omit the comparison. */
  readonly catalogFor: (pod: Fields) => Catalog | undefined
}

/**
 * Reads the facts that all pods have in common: the catalog and, from a cluster, the webhook. Each
 * namespace is read once.
 *
 * @param reader undefined to read no facts from a cluster
 * @param documents Namespaces from files, by name
 * @throws UsageError with the setting that is invalid
 */
export async function factsFrom(
  options: FactOptions,
  reader: Reader | undefined,
  documents: ReadonlyMap<string, Fields> = new Map(),
): Promise<Common> {
  const known = await readSettings(options)
  const webhook = reader && (await readWebhookFacts(reader, options.webhookConfiguration))
  const release = reader && webhook && (await readRelease(reader, webhook))
  const served = servedOption(release, '--pod-security-default')
  const podSecurityDefault =
    known.podSecurityDefault ?? PRIVILEGES.find((level) => level === served)
  const version = answered(await reader?.look('/version'))
  const apiserverVersion = version && readServerVersion(version)
  const offered = offeredBy(release, options)
  const settings = { ...known, ...offered, podSecurityDefault, apiserverVersion }
  const isCatalogGuessed = isGuessed(release, options)
  const places = new Map<string, Promise<PodSetting>>()
  const factsOf = async (about: About) => {
    const { namespace: name } = about.review
    const document = documents.get(name)
    const place = places.get(name) ?? resolvePlace(settings, reader, document, name)
    places.set(name, place)
    return { ...about, ...(await place), isCatalogGuessed, webhook }
  }
  const catalogFor = (pod: Fields) => comparable(settings.catalog, isCatalogGuessed, pod)
  return { factsOf, catalogFor }
}

/**
 * Reports whether the catalog is a guess: the cluster's catalog was not read, and the options name
 * no catalog and no image.
 */
function isGuessed(release: Release | undefined, options: FactOptions): boolean {
  const isNamed = options.catalog !== undefined || options.observerImage !== undefined
  return !isNamed && readCatalog(release) === undefined
}

/**
 * Returns the catalog of the cluster and the images on its nodes. Returns an empty object if the
 * options name a catalog or an image, or if the cluster's catalog was not read.
 */
function offeredBy(
  release: Release | undefined,
  { catalog: folder, observerImage }: FactOptions,
): Partial<Offered> {
  const catalog = readCatalog(release)
  if (catalog === undefined || folder !== undefined || observerImage !== undefined) return {}
  return { catalog, heldImages: readHeldImages(release) }
}

type Offered = Pick<Settings, 'catalog' | 'heldImages' | 'apiserverVersion'>

type PodSetting = Pick<Facts, 'settings' | 'namespace' | 'unread'>

async function resolvePlace(
  { namespaceOf, ...known }: KnownSettings & Offered,
  reader: Reader | undefined,
  document: Fields | undefined,
  name: string,
): Promise<PodSetting> {
  if (reader === undefined) {
    const namespace = document === undefined ? namespaceOf(name) : readNamespace(name, document)
    const settings = { ...known, namespace }
    return { settings, namespace: { value: document }, unread: [] }
  }
  const path = `/api/v1/namespaces/${encodeURIComponent(name)}`
  const [found, limitRanges, resourceQuotas] = await Promise.all(
    ['', '/limitranges', '/resourcequotas'].map((part) => reader.look(`${path}${part}`)),
  )
  const object = answered(found) ?? document
  const rules = {
    limitRanges: asObjects(answered(limitRanges)?.items),
    resourceQuotas: asObjects(answered(resourceQuotas)?.items),
  }
  const namespace = readNamespace(name, object, rules)
  return {
    settings: { ...known, namespace },
    namespace: found && 'problem' in found ? found : { value: object },
    unread: [found, limitRanges, resourceQuotas].flatMap((one) =>
      one !== undefined && 'problem' in one ? [one.problem] : [],
    ),
  }
}

function answered(asked: FactLookup<Fields | undefined> | undefined): Fields | undefined {
  return asked !== undefined && 'value' in asked ? asked.value : undefined
}
