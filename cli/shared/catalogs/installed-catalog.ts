import {
  type MetricAnswer,
  type ObserverAnswer,
  readDefaultAnswers,
  readMetricAnswer,
  withAnswers,
} from '../../../src/catalog/answered-catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import type { Catalog } from '../../../src/core/catalog.ts'
import { DOMAIN, PODS_OPTION, REVISION_LABEL } from '../../../src/core/keys.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { hasCommandOfCatalog } from '../../../src/core/rules/observer-difference.ts'
import { DEFAULT_WORD } from '../../../src/core/text/metric-list.ts'
import type { FactLookup } from '../../../src/pods/explain/facts.ts'
import { tryPod } from '../dry-run.ts'
import { usageError } from '../errors.ts'
import type { Reader } from '../reader.ts'
import type { SettingOptions } from '../settings.ts'
import { findClusterCatalog, readClusterCatalog } from './cluster-catalog.ts'

/** The metrics that a verb names, and the namespace of the pods. */
export interface CatalogRequest {
  readonly namespace: string
  /** Names of metrics, and `DEFAULT_WORD` for the default metrics of the installation. */
  readonly metrics: readonly string[]
  /** The options of the metrics, as annotations. */
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** The catalog for a verb that names images or metrics. */
export interface InstalledCatalog {
  readonly catalog: Catalog
  /** Whether the catalog may differ from the catalog of the installation. */
  readonly isGuessed: boolean
  /**
   * A sentence that says where the images come from, and how to name others; undefined if the
   * options name the catalog or no cluster is read.
   */
  readonly origin: string | undefined
  /** The reasons why the installation has added no observer in a dry run, by metric. */
  readonly left: ReadonlyMap<string, LeftAnswer>
}

type LeftAnswer = Extract<MetricAnswer, { readonly kind: 'left' }>

/**
 * Returns the catalog of the installation that serves a namespace. It comes from the first of these
 * sources that is available:
 *
 * 1. The options, if they name a catalog or an image.
 * 2. The answers to a dry run of a pod for each metric. The apiserver then calls the webhook of the
 *    release that serves the namespace. This requires the right to create pods there.
 * 3. The ConfigMap of the release.
 * 4. The images of observers in other pods of the namespace.
 * 5. The built-in catalog.
 *
 * @param cluster the cluster; undefined if none is read. Without a cluster, the built-in catalog is
 * used
 * @throws UsageError if the options name an invalid catalog
 */
export async function readInstalledCatalog(
  options: Pick<SettingOptions, 'catalog' | 'observerImage'>,
  cluster: FactLookup<Reader | undefined>,
  request: CatalogRequest,
): Promise<InstalledCatalog> {
  const { catalog: folder, observerImage } = options
  const known = await loadCatalog({ folder, observerImage }).catch(usageError)
  const isNamed = folder !== undefined || observerImage !== undefined
  const left: ReadonlyMap<string, LeftAnswer> = new Map()
  if (isNamed) return { catalog: known, isGuessed: false, origin: undefined, left }
  if ('problem' in cluster) {
    const origin = describeOrigin(`the built-in catalog, because ${cluster.problem}`)
    return { catalog: known, isGuessed: true, origin, left }
  }
  if (cluster.value !== undefined) return askInstallation(cluster.value, known, request)
  return { catalog: known, isGuessed: true, origin: undefined, left }
}

async function askInstallation(
  reader: Reader,
  known: Catalog,
  request: CatalogRequest,
): Promise<InstalledCatalog> {
  const { answers, defaultMetrics } = await askAll(reader, request)
  const observers = new Map<string, ObserverAnswer>()
  const left = new Map<string, LeftAnswer>()
  for (const [name, answer] of answers) {
    if ('problem' in answer) continue
    if (answer.kind === 'observer') observers.set(name, answer)
    if (answer.kind === 'left') left.set(name, answer)
  }
  const found =
    observers.size > 0
      ? await fromAnswers(reader, known, { observers, defaultMetrics }, request)
      : await fromElsewhere(reader, known, request, describeAnswers(answers))
  return { ...found, catalog: withoutUnknown(found.catalog, left), left }
}

/** Removes the metrics and the default metrics that the installation does not know. */
function withoutUnknown(catalog: Catalog, left: ReadonlyMap<string, LeftAnswer>): Catalog {
  const isKnown = (name: string) => left.get(name)?.reason !== 'unknown-metric'
  return {
    ...catalog,
    metrics: new Map([...catalog.metrics].filter(([name]) => isKnown(name))),
    defaultMetrics: isKnown(DEFAULT_WORD) ? catalog.defaultMetrics.filter(isKnown) : [],
  }
}

type Answered = MetricAnswer | { readonly problem: string }

/** The answers to dry runs. */
interface Answers {
  /** The answers by metric. */
  readonly answers: ReadonlyMap<string, Answered>
  /** The default metrics of the installation; undefined if they are not known. */
  readonly defaultMetrics: readonly string[] | undefined
}

async function askAll(
  reader: Reader,
  { namespace, metrics, annotations }: CatalogRequest,
): Promise<Answers> {
  const asked = metrics.map(async (metric): Promise<readonly [string, Answered][]> => {
    const tried = await tryPod(reader.apiserver, namespace, metric, optionsOf(metric, annotations))
    if ('problem' in tried) return [[metric, tried]]
    return metric === DEFAULT_WORD
      ? [...readDefaultAnswers(tried.value, metric)]
      : [[metric, readMetricAnswer(tried.value, metric)]]
  })
  const found = await Promise.all(asked)
  const ofDefaults = found[metrics.indexOf(DEFAULT_WORD)]
  return { answers: new Map(found.flat()), defaultMetrics: ofDefaults && defaultsIn(ofDefaults) }
}

/** Returns the metrics that a pod with the default metrics got; undefined if it got none. */
function defaultsIn(answers: readonly [string, Answered][]): readonly string[] | undefined {
  const added = answers.flatMap(([name, answer]) => {
    return 'kind' in answer && answer.kind === 'observer' ? [name] : []
  })
  return added.length > 0 ? added : undefined
}

type Source = Omit<InstalledCatalog, 'left'>

/**
 * Returns the annotations that set options of a metric, or of all metrics for the default metrics.
 * The others, such as the target container, would not match the pod of the dry run.
 */
function optionsOf(metric: string, annotations: CatalogRequest['annotations'] = {}) {
  const key = metric === DEFAULT_WORD ? '[^/]+' : metric
  const isOption = new RegExp(`^${key}\\.${DOMAIN}/(?!${PODS_OPTION}$)`)
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => isOption.test(name)))
}

/** Describes why no dry run returned an observer. */
function describeAnswers(answers: ReadonlyMap<string, Answered>): string {
  const all = [...answers.values()]
  const left = all.find((answer) => 'kind' in answer && answer.kind === 'left')
  if (left !== undefined && 'reason' in left) return `${left.reason}: ${left.message}`
  const failed = all.find((answer) => 'problem' in answer)
  return failed !== undefined && 'problem' in failed ? failed.problem : 'no webhook answered'
}

type FoundAnswers = Pick<Answers, 'defaultMetrics'> & {
  readonly observers: ReadonlyMap<string, ObserverAnswer>
}

/**
 * Uses the whole catalog with the revision that the answers name, if it is the built-in catalog or
 * the caller may read it. It also has the options and the columns of the metrics.
 */
async function fromAnswers(
  reader: Reader,
  known: Catalog,
  { observers, defaultMetrics }: FoundAnswers,
  { namespace }: CatalogRequest,
): Promise<Source> {
  const revision = [...observers.values()][0]?.revision ?? ''
  const whole = known.revision === revision ? known : await findClusterCatalog(reader, revision)
  const origin = describeOrigin(`the installation that serves namespace ${namespace}`)
  const catalog = whole ?? withAnswers(known, observers, revision, defaultMetrics)
  return { catalog, isGuessed: false, origin }
}

/** @param why why the dry runs returned no observer */
async function fromElsewhere(
  reader: Reader,
  known: Catalog,
  request: CatalogRequest,
  why: string,
): Promise<Source> {
  const { namespace } = request
  const metrics = request.metrics.flatMap((name) =>
    name === DEFAULT_WORD ? known.defaultMetrics : [name],
  )
  const tried = `a dry run in namespace ${namespace} returned no observer (${why})`
  const offered = await readClusterCatalog(reader, await readRevisionOf(reader, namespace))
  if ('value' in offered) {
    const origin = describeOrigin(`the cluster's catalog, because ${tried}`)
    return { catalog: offered.value, isGuessed: false, origin }
  }
  const because = `${tried} and the cluster's catalog could not be read (${offered.problem})`
  const found = await findInPods(reader, known, namespace, metrics)
  if (found === undefined) {
    const origin = describeOrigin(`the built-in catalog, because ${because}`)
    return { catalog: known, isGuessed: true, origin }
  }
  const origin = describeOrigin(`pod ${found.pod}, because ${because}`)
  const catalog = withAnswers(known, new Map([[found.metric, found.answer]]), known.revision)
  return { catalog, isGuessed: true, origin }
}

function describeOrigin(source: string): string {
  return `metrics and images are those of ${source}; --observer-image and --catalog name others`
}

/** Returns the revision in the label of a namespace; undefined for the default release. */
async function readRevisionOf(reader: Reader, namespace: string): Promise<string | undefined> {
  const found = await reader.look(`/api/v1/namespaces/${encodeURIComponent(namespace)}`)
  const object = 'value' in found ? found.value : undefined
  return asText(fieldsOrNone(fieldsOrNone(object?.metadata).labels)[REVISION_LABEL])
}

interface FoundObserver {
  readonly pod: string
  readonly metric: string
  readonly answer: ObserverAnswer
}

/**
 * Finds the observer of one of the metrics in the newest pod that has one. Only its image can
 * differ from the built-in catalog.
 */
async function findInPods(
  reader: Reader,
  known: Catalog,
  namespace: string,
  metrics: readonly string[],
): Promise<FoundObserver | undefined> {
  const list = await reader.look(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`)
  const pods = 'value' in list ? asObjects(list.value?.items) : []
  const found = pods.flatMap((pod) => metrics.flatMap((metric) => observerIn(pod, known, metric)))
  return found.sort((a, b) => (a.created < b.created ? 1 : -1))[0]
}

function observerIn(pod: Fields, known: Catalog, metric: string) {
  const answer = readMetricAnswer(pod, metric)
  if (answer.kind !== 'observer' || !hasCommandOfCatalog(known, answer.container)) return []
  const { name, creationTimestamp } = fieldsOrNone(pod.metadata)
  return [{ pod: asText(name) ?? '', created: asText(creationTimestamp) ?? '', metric, answer }]
}
