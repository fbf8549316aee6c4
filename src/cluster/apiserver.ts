import { once } from 'node:events'
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { asFields, type Fields } from '../core/kubernetes/json.ts'
import type { Access } from './cluster.ts'
import { readRefusal } from './refusal.ts'

/** What is asked: a GET, or the one change that is named. */
export interface Call {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** A JSON merge patch. */
  readonly patch?: Fields
  /** An object to apply, which creates it where it is not there. */
  readonly apply?: Fields
  /** An object to create. */
  readonly create?: Fields
  /** What must hold of an object for it to be deleted (meta/v1 Preconditions); nothing must of `{}`. */
  readonly delete?: Fields
  readonly signal: AbortSignal
  /** The most milliseconds of silence, before the answer begins and within it; 0, or nothing, for no bound. */
  readonly silenceMs?: number
}

/** The apiserver of a cluster, as JSON. */
export interface Apiserver {
  /**
   * Sends a call and returns the object that answers it.
   *
   * @throws Refusal, or an error of the network or of the signal
   */
  ask(call: Call): Promise<Fields>
  /** The same, but the answer is read by the caller. */
  open(call: Call): Promise<IncomingMessage>
  /** Ends the connections that are kept. */
  close(): void
}

/** Milliseconds after which an apiserver gives up any call but a watch (kube-apiserver --request-timeout). */
export const REQUEST_TIMEOUT_MS = 60_000

/**
 * Speaks to an apiserver, each call on a connection of its own: one that was kept may have died since.
 * With `keptMs`, connections are kept for so many milliseconds after a call, except through a proxy.
 *
 * The client of @kubernetes/client-node is not used. Its typed objects rename the `default` of a
 * LimitRange and drop what they do not know; its Watch drops a line that it cannot read, and every
 * error of the callback; its informer keeps whole objects, asks for no bookmarks and ends at the
 * first error (2.0.1, src/watch.ts and src/cache.ts; its issues 596, 958 and 2432). Its reader of logs
 * drops the apiserver's message, and a connection that breaks off throws past every handler (dist/log.js).
 */
export function connectApiserver({ server, credentials }: Access, keptMs = 0): Apiserver {
  const root = server.replace(/\/$/, '')
  const isPlain = server.startsWith('http:')
  const request = isPlain ? plainRequest : secureRequest
  // An agent opens a new connection where the authority or the certificate is another than before.
  const agent = new (isPlain ? PlainAgent : SecureAgent)({ keepAlive: true, timeout: keptMs })
  const open = async ({ path, query = {}, signal, silenceMs = 0, ...change }: Call) => {
    const { headers, ...options } = await credentials()
    const { method, about, body } = buildContent(change)
    const outgoing = request(`${root}${path}?${new URLSearchParams(query)}`, {
      ...options,
      ...(keptMs > 0 && options.agent === false ? { agent } : {}),
      signal,
      method,
      headers: { ...asFields(headers), ...HEADERS, ...about },
    })
    // A follower of a log may wait for hours; a peer that died is then noticed by TCP alone.
    outgoing.setSocketKeepAlive(true, 30_000)
    const response = await awaitAnswer(outgoing.end(body), silenceMs)
    if (GOOD.includes(response.statusCode)) return response
    throw await readRefusal(response)
  }
  const ask = async (call: Call) => {
    try {
      return parse(await text(await open(call)))
    } catch (error) {
      // Node says of every signal that "the operation was aborted".
      throw call.signal.aborted ? call.signal.reason : error
    }
  }
  return { open, ask, close: () => agent.destroy() }
}

/** Done, created, and deleted as soon as its finalizers have run. */
const GOOD: readonly unknown[] = [200, 201, 202]

/** As kubectl: a log is text. */
const HEADERS = {
  accept: 'application/json, */*',
  'user-agent': 'ridealong',
} as const

function buildContent(change: Pick<Call, 'patch' | 'apply' | 'create' | 'delete'>) {
  const { patch, apply, create, delete: preconditions } = change
  if (patch !== undefined) return content('PATCH', 'application/merge-patch+json', patch)
  // JSON is YAML.
  if (apply !== undefined) return content('PATCH', 'application/apply-patch+yaml', apply)
  if (create !== undefined) return content('POST', 'application/json', create)
  if (preconditions !== undefined) return content('DELETE', 'application/json', { preconditions })
  return { method: 'GET', about: {}, body: undefined }
}

/** With a change alone: discovery (`/api/v1`) refuses a GET that says what type of content it has not. */
function content(method: string, type: string, object: Fields) {
  const body = Buffer.from(JSON.stringify(object))
  // Node sends the body of a DELETE without saying how long it is.
  const about = { 'content-type': type, 'content-length': body.length }
  return { method, about, body }
}

async function awaitAnswer(outgoing: ClientRequest, silenceMs: number): Promise<IncomingMessage> {
  let response: IncomingMessage | undefined
  // A request that is destroyed drops what its answer still had to say, as if that were whole.
  outgoing.setTimeout(silenceMs, () => {
    const stream = response ?? outgoing
    stream.destroy(new Error(`silent for ${silenceMs / 1000} seconds`))
  })
  // Whoever reads the answer hears of what breaks it; the request itself has nobody to tell then.
  outgoing.on('error', () => {})
  ;[response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return response
}

/** @throws an error for what is not a JSON object, in place of one that quotes it */
export function parse(json: string): Fields {
  try {
    const object = asFields(JSON.parse(json))
    if (object !== undefined) return object
  } catch {}
  throw new Error('the apiserver sent what is no JSON object')
}
