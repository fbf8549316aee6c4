import { DOMAIN, KEYS, STATUS_KEY } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { quote } from '../../core/text/quote.ts'
import { didYouMeanKey, findSimilar } from '../../core/text/similar.ts'
import { formatList } from '../../lib/format-list.ts'
import { formatPath, valueAt } from '../manifest/kinds/paths.ts'
import { findPlaces } from '../manifest/kinds/places.ts'
import type { ManifestResource } from '../manifest/resources.ts'
import type { Step } from '../manifest/yaml/nodes.ts'

/** The keys that users write. */
const KNOWN: readonly string[] = Object.values(KEYS)

/** A key of an option: METRIC.ridealong.dev/OPTION. */
const OPTION = new RegExp(`^[^/]+\\.${DOMAIN.replace('.', '\\.')}/`)

/** The most places that a sentence names. */
const MAX_PLACES = 3

/**
 * Returns a sentence for each annotation of Ridealong that does not reach the pods of an object: it
 * is on the object itself, or on an object between this one and the pods, such as the Job of a
 * CronJob.
 */
export function listMisplacedKeys(resource: ManifestResource): readonly string[] {
  const { fields } = resource
  const places = findPlaces(resource).map(({ path, prefix }) => ({
    path: path.slice(resource.path.length),
    prefix,
  }))
  const right = new Set(places.map(({ path }) => formatPath(path)))
  const above = places.flatMap(({ path }) => path.map((_, depth) => path.slice(0, depth)))
  const all = [[], ...above].map((path) => [...path, 'metadata', 'annotations'])
  const wrong = new Map(all.map((path): [string, readonly Step[]] => [formatPath(path), path]))
  const advice = describeRight(
    places.map(({ path, prefix }) => `${formatPath(path)}${prefix && `."${prefix}KEY"`}`),
  )
  return [...wrong].flatMap(([field, path]) => {
    const keys = right.has(field) ? [] : Object.keys(fieldsOrNone(valueAt(fields, path)))
    return keys.filter(isMeantForUs).map((key) => {
      return `annotation ${named(key)} is in ${field} of the ${resource.kind}, which ${advice}`
    })
  })
}

function describeRight(places: readonly string[]): string {
  const [first] = places
  if (first === undefined) return 'is not copied to pods; annotate the namespace instead'
  const list = formatList([...new Set(places)].slice(0, MAX_PLACES), 'and')
  return `is not copied to its pods; write it into ${list}`
}

/**
 * Returns a sentence for each annotation that is probably a misspelt key of Ridealong, and for the
 * key `ridealong.dev/inject` among the labels.
 *
 * @param metadata the metadata of a pod or a namespace
 * @param owner `the pod` or `the namespace`
 */
export function listMisspeltKeys(metadata: Fields, owner: string): readonly string[] {
  const misspelt = Object.keys(fieldsOrNone(metadata.annotations)).filter((key) => {
    return isMeantForUs(key) && !isKnown(key)
  })
  const label = Object.hasOwn(fieldsOrNone(metadata.labels), KEYS.inject)
  return [
    ...misspelt.map((key) => `annotation ${named(key)} of ${owner} is unknown`),
    ...(label ? [`${KEYS.inject} is a label of ${owner}, and must be an annotation`] : []),
  ]
}

function isKnown(key: string): boolean {
  return KNOWN.includes(key) || OPTION.test(key)
}

/** Reports whether a key is one that users write, or similar to one. */
function isMeantForUs(key: string): boolean {
  const [domain = '', ...name] = key.split('/')
  if (key === STATUS_KEY || name.length === 0) return false
  return /ridealong/i.test(domain) || findSimilar(key, KNOWN) !== undefined
}

/** Returns a key for a message, with the key that was probably meant. */
function named(key: string): string {
  return isKnown(key) ? key : `${quote(key)}${didYouMeanKey(key, KNOWN)}`
}
