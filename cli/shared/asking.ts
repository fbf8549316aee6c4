import type { Catalog } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import { type Annotations, readAnnotations, readRequest } from '../../src/core/request.ts'
import { DEFAULT_WORD, isDefaultWord, parseMetricList } from '../../src/core/text/metric-list.ts'
import { UsageError } from './errors.ts'

/**
 * Converts the request of a command line to annotations.
 *
 * @param metrics names of metrics; one item can contain several names, separated by commas
 * @param pairs `KEY=VALUE`
 * @throws UsageError if a key is not an annotation of Ridealong, or the request is not valid for
 * the catalog
 */
export function asked(
  metrics: readonly string[] | undefined,
  pairs: readonly string[] | undefined,
  catalog: Catalog,
): Annotations {
  const written = writtenPairs(pairs)
  const all = metrics === undefined ? written : { ...written, [KEYS.inject]: metrics.join(',') }
  const annotations = readAnnotations(all)
  const foreign = Object.keys(all).find((key) => !annotations.has(key))
  if (foreign !== undefined)
    throw new UsageError(
      `${foreign} is not an annotation of Ridealong; an example is ${KEYS.targetCommand}`,
    )
  const request = readRequest(annotations, new Map(), catalog)
  const wrong =
    request.kind === 'wrong' ? request : request.kind === 'asked' ? request.left[0] : undefined
  if (wrong !== undefined) throw new UsageError(`${wrong.reason}: ${wrong.message}`)
  return annotations
}

/**
 * Returns the metrics in values of `ridealong.dev/inject`, without repetitions: names, and
 * `DEFAULT_WORD` for the default metrics.
 */
export function metricNames(values: readonly (string | undefined)[]): readonly string[] {
  const items = values.flatMap((value = '') => {
    const list = parseMetricList(value)
    return list.kind === 'items' ? list.items : []
  })
  const names = items.map((item) => (isDefaultWord(item) ? DEFAULT_WORD : item))
  return [...new Set(names)].filter((name) => /^[a-z0-9-]{1,63}$/.test(name))
}

/**
 * Reads annotations of a command line.
 *
 * @param pairs `KEY=VALUE`
 * @throws UsageError if an item has no value
 */
export function writtenPairs(pairs: readonly string[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.map(readPair))
}

function readPair(pair: string): readonly [string, string] {
  const [key = '', ...value] = pair.split('=')
  if (value.length === 0) throw new UsageError(`--annotation ${pair} is not KEY=VALUE`)
  return [key.trim(), value.join('=')]
}
