import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { KEYS } from '../core/keys.ts'
import { fieldsOrNone } from '../core/kubernetes/json.ts'
import defaultsSchema from './defaults.schema.json' with { type: 'json' }
import schema from './metric.schema.json' with { type: 'json' }

// The compiled code is not optimized: that would take longer than it saves, because a command
// validates a few documents and ends.
const ajv = new Ajv({
  strict: true,
  strictRequired: false,
  strictTypes: false,
  code: { optimize: false },
}).addSchema([schema, defaultsSchema])

/** What the schemas describe: a metric, the defaults, or the rows of a metric. */
export type Described = 'metric' | 'defaults' | 'rows'

const ADDRESSES: Readonly<Record<Described, string>> = {
  metric: schema.$id,
  defaults: defaultsSchema.$id,
  rows: `${schema.$id}#/definitions/rows`,
}

const ENDPOINT = '/spec/otlp/endpoint'
const ENDPOINT_RULE =
  'must be http://HOST:PORT of a receiver, with an optional path, and without credentials; ' +
  'for https, use a collector on the node or in the cluster'

const NAME = '/metadata/name'
const NAME_RULE =
  'must not be true, enabled, false or disabled, because these words have a meaning in the' +
  ` annotation ${KEYS.inject}; rename the metric`

/**
 * Returns the place and the first violation of the schema in a document, or undefined if it is
 * valid. Each schema is compiled when it is first needed.
 */
export function schemaProblem(described: Described, document: unknown): string | undefined {
  const validate = ajv.getSchema(ADDRESSES[described]) as ValidateFunction
  if (validate(document)) return undefined
  const [error] = validate.errors ?? []
  const place = error?.instancePath.slice(1).replaceAll('/', '.') || 'the document'
  return `${place} ${explain(error)}`
}

/** Returns a message with the values that are allowed, which Ajv's own message omits. */
function explain(error: ErrorObject | undefined): string {
  const { message = 'is not valid', params = {} } = error ?? {}
  const { allowedValues, additionalProperty, allowedValue } = fieldsOrNone(params)
  if (Array.isArray(allowedValues)) return `must be one of ${allowedValues.join(', ')}`
  if (allowedValue !== undefined) return `must be ${String(allowedValue)}`
  if (additionalProperty !== undefined) return `must not have ${String(additionalProperty)}`
  if (error?.instancePath === ENDPOINT) return ENDPOINT_RULE
  if (error?.keyword === 'not' && error.instancePath === NAME) return NAME_RULE
  return message
}
