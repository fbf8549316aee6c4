import type { Catalog } from '../../core/catalog.ts'
import { KEYS } from '../../core/keys.ts'
import { type Annotations, readAnnotations, readRequest } from '../../core/request.ts'
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
  const written = Object.fromEntries((pairs ?? []).map(readPair))
  const all = metrics === undefined ? written : { ...written, [KEYS.inject]: metrics.join(',') }
  const annotations = readAnnotations(all)
  const foreign = Object.keys(all).find((key) => !annotations.has(key))
  if (foreign !== undefined)
    throw new UsageError(
      `${foreign} is not an annotation of Ridealong; an example is ${KEYS.targetCommand}`,
    )
  const request = readRequest(annotations, new Map(), catalog)
  if (request.kind === 'wrong') throw new UsageError(`${request.reason}: ${request.message}`)
  return annotations
}

function readPair(pair: string): readonly [string, string] {
  const [key = '', ...value] = pair.split('=')
  if (value.length === 0) throw new UsageError(`--annotation ${pair} is not KEY=VALUE`)
  return [key.trim(), value.join('=')]
}
