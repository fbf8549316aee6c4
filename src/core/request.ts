import type { BodyScan } from './body-scan.ts'
import { type Catalog, type Metric, readOption } from './catalog.ts'
import { ANNOTATIONS_LIMIT, DOMAIN, KEYS, STATUS_KEY } from './keys.ts'
import { type EnvVar, plain } from './kubernetes/environment.ts'
import type { Fields } from './kubernetes/json.ts'
import type { MetricReason, Reason } from './reasons.ts'
import { findDecisive, type LeftMetric } from './rules/left-metric.ts'
import {
  isDefaultWord,
  isExclusionWord,
  type MetricList,
  parseMetricList,
  wordInLowerCase,
} from './text/metric-list.ts'
import { type PodSelector, parsePods } from './text/pod-selector.ts'
import { ascii } from './text/printable.ts'
import { quote } from './text/quote.ts'
import { didYouMean, didYouMeanKey } from './text/similar.ts'
import { problemOfTargetCommand } from './text/target-command.ts'

const OPTION_KEY = /^(.+)\.ridealong\.dev\//s
const KNOWN_KEYS: ReadonlySet<string> = new Set([...Object.values(KEYS), STATUS_KEY])

export const MODES = ['native', 'container'] as const
export type Mode = (typeof MODES)[number]

const ON_ERROR = ['admit', 'deny'] as const
/** The handling of a pod whose request is wrong or cannot be met. */
export type OnError = (typeof ON_ERROR)[number]

/** The annotations of a pod or a namespace that belong to Ridealong. */
export type Annotations = ReadonlyMap<string, string>

/** A requested metric, and its options as environment variables of the observer. */
export interface RequestedMetric {
  readonly metric: Metric
  readonly options: readonly EnvVar[]
  /** The pods to which the metric applies; undefined for all pods of the request. */
  readonly pods: PodSelector | undefined
  /** Whether the metric is requested only as a default metric of the catalog. */
  readonly isDefault: boolean
}

/** The content of a valid request. */
export interface Terms {
  /** The metrics with valid options; at least one. */
  readonly metrics: readonly RequestedMetric[]
  /** The metrics that the catalog does not have, or whose options are invalid. */
  readonly left: readonly WrongMetric[]
  readonly mode: Mode
  readonly targetContainer: string | undefined
  readonly targetCommand: string | undefined
  /** The pods to which the request applies; undefined for all pods. */
  readonly pods: PodSelector | undefined
}

/** The problem with a request: a reason, and a message with the problem and the valid values. */
export interface Wrong {
  readonly reason: Extract<MetricReason, 'unknown-metric' | 'invalid-option'>
  readonly message: string
}

/** A requested metric that the catalog does not have, or whose options are invalid. */
type WrongMetric = LeftMetric & Wrong

/** The request in the annotations of a pod and its namespace. */
export type Request =
  | { readonly kind: 'nothing'; readonly reason: Extract<Reason, 'not-asked' | 'opted-out'> }
  | ({ readonly kind: 'wrong'; readonly onError: OnError } & Wrong)
  | ({ readonly kind: 'asked'; readonly onError: OnError } & Terms)

/**
 * Selects the annotations that belong to Ridealong, in one pass over the keys. Values are
 * unchanged.
 */
export function readAnnotations(annotations: Fields | undefined): Annotations {
  return pick(annotations, Object.keys(annotations ?? {}).filter(isOurs))
}

/**
 * Selects the annotations of a pod that belong to Ridealong. The known keys are looked up until as
 * many are found as the JSON that contained the pod mentions the domain. The pod then has no other
 * keys of Ridealong, such as misspelled keys, and the other annotations, which may be many, are not
 * searched.
 */
export function readPodAnnotations(
  annotations: Fields | undefined,
  { mentions }: BodyScan,
  catalog: Catalog,
): Annotations {
  const known = pick(annotations, knownKeys(catalog), mentions)
  return known.size < mentions ? readAnnotations(annotations) : known
}

/**
 * Selects the annotations with the given keys, at most `most` of them. A value that is not text, or
 * that is longer than the limit for all annotations together, is skipped, because Kubernetes
 * refuses the object anyway.
 */
function pick(
  annotations: Fields | undefined,
  keys: Iterable<string>,
  most = Number.POSITIVE_INFINITY,
): Annotations {
  const picked = new Map<string, string>()
  for (const key of keys) {
    if (picked.size >= most) break
    const value = annotations?.[key]
    if (typeof value !== 'string' || value.length > ANNOTATIONS_LIMIT) continue
    picked.set(key, value)
  }
  return picked
}

function isOurs(key: string): boolean {
  return key.includes(DOMAIN) && (key.startsWith(`${DOMAIN}/`) || OPTION_KEY.test(key))
}

function* knownKeys({ metrics }: Catalog): Iterable<string> {
  yield* KNOWN_KEYS
  for (const { options, podsKey } of metrics.values()) {
    yield podsKey
    yield* options.keys()
  }
}

/**
 * Parses the request of a pod. For each key, the pod's value takes precedence over the namespace's
 * value. A problem with one metric leaves this metric, unless the pod is to be denied for it.
 *
 * @param own the annotations of the pod
 * @param defaults the annotations of the namespace
 */
export function readRequest(own: Annotations, defaults: Annotations, catalog: Catalog): Request {
  const list = readList(own) ?? readList(defaults)
  if (list?.kind === 'excluded' && own.has(KEYS.inject))
    return { kind: 'nothing', reason: 'opted-out' }
  if (list?.kind !== 'items') return { kind: 'nothing', reason: 'not-asked' }
  const annotations = defaults.size === 0 ? own : new Map([...defaults, ...own])
  const onError = readWord(KEYS.onError, ON_ERROR, annotations)
  if ('reason' in onError) return { kind: 'wrong', onError: 'admit', ...onError }
  const terms = readTerms(list.items, annotations, catalog, onError.word)
  return 'reason' in terms
    ? { kind: 'wrong', onError: onError.word, ...terms }
    : { kind: 'asked', onError: onError.word, ...terms }
}

/**
 * Reports whether the annotations of a pod or a namespace request any metric, even if the request
 * is invalid.
 */
export function requestsMetrics(annotations: Annotations): boolean {
  return readList(annotations)?.kind === 'items'
}

function readList(annotations: Annotations): MetricList | undefined {
  const written = annotations.get(KEYS.inject)
  return written === undefined ? undefined : parseMetricList(written)
}

function readTerms(
  items: readonly string[],
  annotations: Annotations,
  catalog: Catalog,
  onError: OnError,
): Terms | Wrong {
  const mode = readWord(KEYS.mode, MODES, annotations)
  if ('reason' in mode) return mode
  const problem =
    problemOfItems(items) ?? problemOfKeys(annotations) ?? problemOfCommand(annotations)
  if (problem !== undefined) return problem
  const pods = readPods(KEYS.pods, annotations)
  if (pods !== undefined && 'reason' in pods) return pods
  const read = findMetrics(items, catalog).map((found) => {
    return 'reason' in found ? found : readMetric(found, mode.word, annotations)
  })
  const metrics = read.filter((each) => 'isDefault' in each)
  const left = read.filter((each) => 'reason' in each)
  const decisive = findDecisive(left, metrics.length, onError === 'deny')
  if (decisive !== undefined) return { reason: decisive.reason, message: decisive.message }
  return {
    metrics,
    left,
    mode: mode.word,
    targetContainer: annotations.get(KEYS.targetContainer)?.trim(),
    targetCommand: annotations.get(KEYS.targetCommand),
    pods,
  }
}

type FoundMetric = Pick<RequestedMetric, 'metric' | 'isDefault'>

/** The maximum number of unknown names that are reported, each with its own sentence. */
const MAX_UNKNOWN = 8

/**
 * Finds the metrics that the items of a list request, without repetitions. Unknown metrics come
 * first.
 */
function findMetrics(
  items: readonly string[],
  catalog: Catalog,
): readonly (FoundMetric | WrongMetric)[] {
  const { metrics, defaultMetrics } = catalog
  const word = items.find(isDefaultWord)
  const written = items.flatMap((item) => (isDefaultWord(item) ? defaultMetrics : [item]))
  const names = [...new Set(written)]
  const unknown = names.filter((name) => !metrics.has(name)).slice(0, MAX_UNKNOWN)
  return [
    ...(word !== undefined && defaultMetrics.length === 0 ? [noDefaults(word, catalog)] : []),
    ...unknown.map((name) => unknownMetric(name, catalog)),
    ...names
      .flatMap((name) => metrics.get(name) ?? [])
      .map((metric) => ({ metric, isDefault: !items.includes(metric.name) })),
  ]
}

/** Reports an item that excludes the pod, beside other items. */
function problemOfItems(items: readonly string[]): Wrong | undefined {
  const item = items.find(isExclusionWord)
  if (item === undefined) return undefined
  const found = `annotation ${KEYS.inject}: ${quote(item)} cannot be in a list with other items`
  return invalid(`${found}; write only ${quote(item)} to exclude the pod, or remove it`)
}

function noDefaults(item: string, catalog: Catalog): WrongMetric {
  const found = `annotation ${KEYS.inject}: ${quote(item)} requests the catalog's default metrics`
  const message = `${found}, but it has none; known metrics are ${listKnown(catalog)}`
  return { metric: item, reason: 'unknown-metric', message }
}

/** The maximum length of the name of a metric (a label of RFC 1123). */
const MAX_NAME_LENGTH = 63

function unknownMetric(name: string, catalog: Catalog): WrongMetric {
  const word = wordInLowerCase(name)
  const advice =
    word === undefined
      ? didYouMean(name, catalog.metrics.keys())
      : `; ${quote(word)} must be in lower case`
  const found = `annotation ${KEYS.inject}: ${quote(name)} is not a metric of the catalog`
  const message = `${found}${advice}; known metrics are ${listKnown(catalog)}`
  return { metric: ascii(name, MAX_NAME_LENGTH), reason: 'unknown-metric', message }
}

function listKnown({ metrics }: Catalog): string {
  return [...metrics.keys()].join(', ')
}

function invalid(message: string): Wrong {
  return { reason: 'invalid-option', message }
}

/** Reads an annotation that has a fixed set of values. The first value is the default. */
function readWord<Word extends string>(
  key: string,
  words: readonly [Word, ...Word[]],
  annotations: Annotations,
): { readonly word: Word } | Wrong {
  const written = annotations.get(key)?.trim() ?? words[0]
  const word = words.find((known) => known === written)
  return word === undefined
    ? invalid(`annotation ${key}: ${quote(written)} is not one of ${words.join(', ')}`)
    : { word }
}

/** Reports a metric whose observer does not work in the mode. */
function problemOfMode(mode: Mode, { name, onlyMode }: Metric): Wrong | undefined {
  if (onlyMode === undefined || onlyMode === mode) return undefined
  const needs = `metric ${name} needs the mode ${onlyMode}`
  return invalid(
    `annotation ${KEYS.mode}: ${needs}, because its observer must run before the application`,
  )
}

/**
 * Reports the first unknown key that names no metric. Without this check, a misspelled key would
 * have no effect, and the user would not notice the mistake.
 */
function problemOfKeys(annotations: Annotations): Wrong | undefined {
  const key = [...annotations.keys()].find((key) => !KNOWN_KEYS.has(key) && !OPTION_KEY.test(key))
  return key === undefined ? undefined : unknownKey(key, Object.values(KEYS))
}

/** Reports the first key that names the metric, but none of its options. */
function problemOfOptions(
  annotations: Annotations,
  { name, options, podsKey }: Metric,
): Wrong | undefined {
  const prefix = `${name}.${DOMAIN}/`
  const key = [...annotations.keys()].find((key) => {
    return key.startsWith(prefix) && !options.has(key) && key !== podsKey
  })
  return key === undefined ? undefined : unknownKey(key, [...options.keys(), podsKey])
}

function unknownKey(key: string, known: readonly string[]): Wrong {
  const unknown = `annotation ${quote(key)} is unknown${didYouMeanKey(key, known)}`
  return invalid(`${unknown}; known keys are ${known.join(', ')}`)
}

function problemOfCommand(annotations: Annotations): Wrong | undefined {
  const pattern = annotations.get(KEYS.targetCommand)
  const problem = pattern === undefined ? undefined : problemOfTargetCommand(pattern)
  return problem === undefined ? undefined : invalid(`annotation ${KEYS.targetCommand}: ${problem}`)
}

/** Reads an annotation that selects pods; undefined if it is missing or has no terms. */
function readPods(key: string, annotations: Annotations): PodSelector | undefined | Wrong {
  const written = annotations.get(key)
  const pods = written === undefined ? undefined : parsePods(written)
  if (pods === undefined || !('problem' in pods)) return pods
  return invalid(`annotation ${key}: ${pods.problem}`)
}

function readMetric(
  found: FoundMetric,
  mode: Mode,
  annotations: Annotations,
): RequestedMetric | WrongMetric {
  const { metric } = found
  const pods = readPods(metric.podsKey, annotations)
  const read =
    problemOfMode(mode, metric) ??
    problemOfOptions(annotations, metric) ??
    readOptions(metric, annotations)
  if ('reason' in read) return { metric: metric.name, ...read }
  if (pods !== undefined && 'reason' in pods) return { metric: metric.name, ...pods }
  return { ...found, options: read.options, pods }
}

function readOptions(
  metric: Metric,
  annotations: Annotations,
): Pick<RequestedMetric, 'options'> | Wrong {
  if (!isSet(metric, annotations)) return { options: metric.defaults }
  const options: EnvVar[] = []
  for (const [key, option] of metric.options) {
    const written = annotations.get(key) ?? String(option.default)
    const read = readOption(option, written)
    if ('expected' in read)
      return invalid(`annotation ${key}: ${quote(written)} is not ${read.expected}`)
    options.push(plain(option.variable, read.value))
  }
  return { options }
}

function isSet(metric: Metric, annotations: Annotations): boolean {
  for (const key of metric.options.keys()) if (annotations.has(key)) return true
  return false
}
