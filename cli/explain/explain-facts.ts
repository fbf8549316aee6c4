import { type Catalog, PRIVILEGES } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { readServerVersion } from '../../src/core/kubernetes/server-version.ts'
import { type Namespace, readNamespace } from '../../src/core/namespaces/namespace.ts'
import type { DecisionRule } from '../../src/core/reasons.ts'
import type { Settings } from '../../src/core/review-pod.ts'
import {
  type Release,
  readCatalog,
  readHeldImages,
  servedOption,
} from '../../src/pods/doctor/installation.ts'
import { buildPodPair } from '../../src/pods/explain/admission.ts'
import type { Admission, FactLookup, Facts, UncheckedRules } from '../../src/pods/explain/facts.ts'
import { comparable } from '../../src/pods/explain/injection-outcome.ts'
import { metricNames } from '../shared/asking.ts'
import {
  type CatalogRequest,
  type InstalledCatalog,
  readInstalledCatalog,
} from '../shared/catalogs/installed-catalog.ts'
import { tryPodPair } from '../shared/dry-run.ts'
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
  | 'subject'
  | 'review'
  | 'isTemplate'
  | 'isAssumed'
  | 'failurePolicy'
  | 'misplaced'
  | 'created'
  | 'pods'
  | 'differences'
>

/** Functions that use the facts that several explained pods have in common. */
export interface Common {
  /** Combines the facts about a pod with the facts about its namespace and its cluster. */
  readonly factsOf: (about: About) => Promise<Facts>
  /**
   * Returns a function that returns the catalog to compare a pod's containers with; undefined to
   * omit the comparison.
   */
  readonly catalogsIn: (namespace: string) => Promise<CatalogLookup>
  /** Sentences that say where catalogs were found, if the catalog of a release was not read. */
  readonly origins: ReadonlySet<string>
}

export type CatalogLookup = (pod: Fields) => Catalog | undefined

/**
 * Reads the facts that several pods have in common: the catalog and, from a cluster, the webhook of
 * the release that handles the namespace. Each namespace and each release is read once.
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
  const releaseOf = remember(async (revision: string | undefined) =>
    readHandler(known, options, reader, revision),
  )
  const origins = new Set<string>()
  const catalogOf = remember(
    (wanted: CatalogRequest) => findCatalog(reader, wanted, (sentence) => origins.add(sentence)),
    ({ namespace, metrics }) => [namespace, ...metrics].join(' '),
  )
  const placeOf = remember((name: string) =>
    readPlace(known, options, reader, documents.get(name), name),
  )
  const handlerOf = async (name: string, pod: Fields = {}) => {
    const { object } = await placeOf(name)
    const handler = await releaseOf(object.revision)
    if (!handler.isCatalogGuessed || reader === undefined) return handler
    const own = fieldsOrNone(fieldsOrNone(pod.metadata).annotations)
    const lists = [asText(own[KEYS.inject]), object.annotations.get(KEYS.inject)]
    const metrics = metricNames([...lists, ...known.catalog.metrics.keys()])
    const { catalog, isGuessed } = await catalogOf({ namespace: name, metrics })
    return { ...handler, settings: { ...handler.settings, catalog }, isCatalogGuessed: isGuessed }
  }
  const factsOf = async (about: About) => {
    const { object, ...place } = await placeOf(about.review.namespace)
    const { settings, ...handler } = await handlerOf(
      about.review.namespace,
      fieldsOrNone(about.review.object),
    )
    const all = { ...settings, namespace: object }
    const facts: Facts = { ...about, ...place, ...handler, settings: all }
    return reader === undefined
      ? facts
      : { ...facts, admission: await readAdmission(reader, facts) }
  }
  const catalogsIn = async (name: string) => {
    const { settings, isCatalogGuessed } = await handlerOf(name)
    return (pod: Fields) => comparable(settings.catalog, isCatalogGuessed, pod)
  }
  return { factsOf, catalogsIn, origins }
}

/**
 * Finds the catalog of the installation that serves a namespace, if the catalog of its release was
 * not read, and says where it was found.
 */
async function findCatalog(
  reader: Reader | undefined,
  wanted: CatalogRequest,
  onOrigin: (sentence: string) => void,
): Promise<InstalledCatalog> {
  const found = await readInstalledCatalog({}, { value: reader }, wanted)
  if (found.origin !== undefined) onOrigin(found.origin)
  return found
}

/** Finds out whether policies of the cluster admit the observers that the pod would get. */
async function readAdmission(reader: Reader, facts: Facts): Promise<Admission | undefined> {
  const pair = buildPodPair(facts)
  return pair && tryPodPair(reader.apiserver, facts.review.namespace, pair)
}

/** Returns a function that calls another function once for each argument with the same key. */
function remember<Argument, Value>(
  read: (argument: Argument) => Promise<Value>,
  keyOf: (argument: Argument) => unknown = (argument) => argument,
): (argument: Argument) => Promise<Value> {
  const known = new Map<unknown, Promise<Value>>()
  return (argument) => {
    const key = keyOf(argument)
    const found = known.get(key) ?? read(argument)
    known.set(key, found)
    return found
  }
}

/** The facts about the release that handles a namespace. */
type Handler = Pick<Facts, 'webhook'> & {
  readonly isCatalogGuessed: boolean
  readonly settings: Omit<Settings, 'namespace'>
}

/** @param revision the revision of the namespace; undefined for the default release */
async function readHandler(
  { namespaceOf: _, ...known }: KnownSettings,
  options: FactOptions,
  reader: Reader | undefined,
  revision: string | undefined,
): Promise<Handler> {
  const which = { name: options.webhookConfiguration, revision, isExact: true }
  const webhook = reader && (await readWebhookFacts(reader, which))
  const release = reader && webhook && (await readRelease(reader, webhook))
  const served = servedOption(release, '--pod-security-default')
  const podSecurityDefault =
    known.podSecurityDefault ?? PRIVILEGES.find((level) => level === served)
  const version = answered(await reader?.look('/version'))
  const apiserverVersion = version && readServerVersion(version)
  const offered = offeredBy(release, options)
  const revisions = webhook?.revisions && new Set(webhook.revisions)
  const settings = { ...known, ...offered, podSecurityDefault, apiserverVersion, revisions }
  return { webhook, settings, isCatalogGuessed: isGuessed(release, options) }
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

type Offered = Pick<Settings, 'catalog' | 'heldImages'>

type Place = Pick<Facts, 'namespace' | 'unchecked'> & { readonly object: Namespace }

async function readPlace(
  settings: KnownSettings,
  options: FactOptions,
  reader: Reader | undefined,
  document: Fields | undefined,
  name: string,
): Promise<Place> {
  if (reader === undefined) return placeOffline(settings, options, document, name)
  const path = `/api/v1/namespaces/${encodeURIComponent(name)}`
  const [found, limitRanges, resourceQuotas] = await Promise.all(
    ['', '/limitranges', '/resourcequotas'].map((part) => reader.look(`${path}${part}`)),
  )
  const read = answered(found) ?? document
  const rules = {
    limitRanges: asObjects(answered(limitRanges)?.items),
    resourceQuotas: asObjects(answered(resourceQuotas)?.items),
  }
  return {
    object: readNamespace(name, read, rules),
    namespace: found && 'problem' in found ? found : { value: read },
    unchecked: {
      ...uncheckedIf('Pod Security', found),
      ...uncheckedIf('LimitRange', limitRanges),
      ...uncheckedIf('ResourceQuota', resourceQuotas),
    },
  }
}

/** Returns the rule as unchecked if the objects that it needs could not be read. */
function uncheckedIf(
  rule: DecisionRule['name'],
  objects: FactLookup<Fields | undefined> | undefined,
): UncheckedRules {
  return objects !== undefined && 'problem' in objects ? { [rule]: objects.problem } : {}
}

/**
 * Returns a namespace and its rules as far as files describe them. The option `--namespaces` names
 * a file that has all of them. The manifests can have the Namespace, but not the objects that an
 * administrator creates in it.
 */
function placeOffline(
  { namespaceOf }: KnownSettings,
  { namespaces, podSecurityDefault }: FactOptions,
  document: Fields | undefined,
  name: string,
): Place {
  const object = document === undefined ? namespaceOf(name) : readNamespace(name, document)
  const isLevelKnown = document !== undefined || podSecurityDefault !== undefined
  const unchecked =
    namespaces === undefined ? { ...NO_RULES_READ, ...(isLevelKnown ? {} : NO_LEVEL_READ) } : {}
  return { object, namespace: { value: document }, unchecked }
}

const NO_RULES_READ: UncheckedRules = {
  LimitRange: 'the LimitRanges of the namespace are not known',
  ResourceQuota: 'the ResourceQuotas of the namespace are not known',
}

const NO_LEVEL_READ: UncheckedRules = {
  'Pod Security': 'the Pod Security level of the namespace is not known',
}

function answered(asked: FactLookup<Fields | undefined> | undefined): Fields | undefined {
  return asked !== undefined && 'value' in asked ? asked.value : undefined
}
