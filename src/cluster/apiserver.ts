import { once } from 'node:events'
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { asFields, type Fields, parseFields } from '../core/kubernetes/json.ts'
import { readApiError } from './api-error.ts'
import type { Access } from './cluster.ts'

/** A request to the apiserver: a GET, unless `patch`, `apply`, `create` or `delete` is set. */
export interface Call {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Whether the objects of a list are requested with their metadata only. */
  readonly metadataOnly?: boolean
  /** A JSON merge patch. */
  readonly patch?: Fields
  /** An object for server-side apply, which creates the object if it does not exist. */
  readonly apply?: Fields
  /** An object to create. */
  readonly create?: Fields
  /** The preconditions of a deletion (meta/v1 Preconditions); `{}` deletes unconditionally. */
  readonly delete?: Fields
  readonly signal: AbortSignal
  /**
   * The maximum time without data, before the response begins and within it, in milliseconds; 0 or
   * undefined for no limit.
   */
  readonly silenceMs?: number
}

/** A client of the apiserver that sends and receives JSON. */
export interface Apiserver {
  /**
   * Sends a request and returns the object in the response.
   *
   * @throws ApiError, a network error, or the abort reason of the signal
   */
  ask(call: Call): Promise<Fields>
  /**
   * Sends a request and yields the text of the response as it arrives.
   *
   * @throws ApiError, a network error, or the abort reason of the signal
   */
  read(call: Call): AsyncGenerator<string>
  /**
   * Sends a request and returns the response, whose body the caller reads.
   *
   * @throws ApiError, a network error, or the AbortError of Node
   */
  open(call: Call): Promise<IncomingMessage>
  /** Closes the connections that are kept alive. */
  close(): void
}

/**
 * The milliseconds after which an apiserver ends any request except a watch (kube-apiserver
 * --request-timeout).
 */
export const REQUEST_TIMEOUT_MS = 60_000

/**
 * Creates a client of an apiserver. Each request uses a new connection, because an idle connection
 * may be broken. With `keptMs`, connections are kept alive for that many milliseconds after a
 * request, except through a proxy.
 *
 * `onDate` is called with the time in each response, in milliseconds since 1970; NaN if none.
 *
 * The client of @kubernetes/client-node is not used, for these reasons (2.0.1, src/watch.ts and
 * src/cache.ts; its issues 596, 958 and 2432):
 *
 * - The typed objects rename the `default` of a LimitRange and drop unknown fields.
 * - The Watch drops lines that it cannot parse, and every error of the callback.
 * - The informer keeps whole objects, does not request bookmarks and stops at the first error.
 * - The log reader drops the apiserver's message. When a connection breaks, the log reader throws
 *   an error that no handler can catch (dist/log.js).
 */
export function connectApiserver(
  { server, credentials }: Access,
  keptMs = 0,
  onDate: (date: number) => void = () => {},
): Apiserver {
  const root = server.replace(/\/$/, '')
  const isPlain = server.startsWith('http:')
  const request = isPlain ? plainRequest : secureRequest
  // An agent opens a new connection if the CA or the client certificate has changed.
  const agent = new (isPlain ? PlainAgent : SecureAgent)({ keepAlive: true, timeout: keptMs })
  const open = async (call: Call) => {
    const { path, query = {}, signal, silenceMs = 0, metadataOnly = false, ...change } = call
    const { headers, ...options } = await credentials()
    const { method, about, body } = buildContent(change)
    const outgoing = request(`${root}${path}?${new URLSearchParams(query)}`, {
      ...options,
      ...(keptMs > 0 && options.agent === false ? { agent } : {}),
      signal,
      method,
      headers: { ...asFields(headers), ...HEADERS, ...(metadataOnly ? METADATA : {}), ...about },
    })
    // A log that is followed may have no data for hours; only TCP keep-alive detects a dead peer.
    outgoing.setSocketKeepAlive(true, 30_000)
    const response = await awaitAnswer(outgoing.end(body), silenceMs)
    onDate(Date.parse(response.headers.date ?? ''))
    if (GOOD.includes(response.statusCode)) return response
    throw await readApiError(response)
  }
  const read = async function* (call: Call) {
    try {
      yield* (await open(call)).setEncoding('utf8')
    } catch (error) {
      // Node reports "the operation was aborted" for every abort, whatever the reason.
      throw call.signal.aborted ? call.signal.reason : error
    }
  }
  const ask = async (call: Call) => parse(await text(read(call)))
  return { open, read, ask, close: () => agent.destroy() }
}

/** OK, Created and Accepted. Accepted means that an object is deleted after its finalizers ran. */
const GOOD: readonly unknown[] = [200, 201, 202]

/** The Accept header of kubectl: logs are text, and other responses are JSON. */
const HEADERS = {
  accept: 'application/json, */*',
  'user-agent': 'ridealong',
} as const

/** An apiserver that cannot reduce objects to their metadata sends whole objects. */
const METADATA = {
  accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json',
} as const

function buildContent(change: Pick<Call, 'patch' | 'apply' | 'create' | 'delete'>) {
  const { patch, apply, create, delete: preconditions } = change
  if (patch !== undefined) return content('PATCH', 'application/merge-patch+json', patch)
  // JSON is valid YAML.
  if (apply !== undefined) return content('PATCH', 'application/apply-patch+yaml', apply)
  if (create !== undefined) return content('POST', 'application/json', create)
  if (preconditions !== undefined) return content('DELETE', 'application/json', { preconditions })
  return { method: 'GET', about: {}, body: undefined }
}

/**
 * Builds the body of a change, and the headers that describe the body. A GET has neither: discovery
 * (`/api/v1`) rejects a GET that has a content type and no body.
 */
function content(method: string, type: string, object: Fields) {
  const body = Buffer.from(JSON.stringify(object))
  // By default, Node sends the body of a DELETE without a Content-Length header.
  const about = { 'content-type': type, 'content-length': body.length }
  return { method, about, body }
}

async function awaitAnswer(outgoing: ClientRequest, silenceMs: number): Promise<IncomingMessage> {
  let response: IncomingMessage | undefined
  // Once a response has begun, the timeout destroys the response. If it destroyed the request, the
  // rest of the response would be dropped, and the response would look complete.
  outgoing.setTimeout(silenceMs, () => {
    const stream = response ?? outgoing
    stream.destroy(new Error(`no data for ${silenceMs / 1000} seconds`))
  })
  // The reader of the response receives any later error. Without this listener, the same error
  // event of the request would end the process.
  outgoing.on('error', () => {})
  ;[response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return response
}

/**
 * Parses a JSON object.
 *
 * @throws an error that does not quote the text, if the text is not a JSON object
 */
export function parse(json: string): Fields {
  const object = parseFields(json)
  if (object !== undefined) return object
  throw new Error('the response of the apiserver is not a JSON object')
}
