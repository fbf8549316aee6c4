import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { type Fields, fieldsOf, fieldsOrNone, textOf } from '../core/json.ts'
import { messageOf } from '../status-message.ts'
import type { Access } from './access.ts'

export interface Call {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** A JSON merge patch. */
  readonly patch?: Fields
  /** An object to apply, which creates it where it is not there; a call with neither is a GET. */
  readonly apply?: Fields
  readonly signal: AbortSignal
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
}

/** The apiserver's own no, or the ERROR event of a watch (meta/v1 Status). */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(`the apiserver says ${status}: ${message}`)
    this.status = status
  }
}

/**
 * Speaks to an apiserver, each call on a connection of its own: one that was kept may have died since.
 *
 * The client of @kubernetes/client-node is not used. Its typed objects rename the `default` of a
 * LimitRange and drop what they do not know; its Watch drops a line that it cannot read, and every
 * error of the callback; its informer keeps whole objects, asks for no bookmarks and ends at the
 * first error (2.0.1, src/watch.ts and src/cache.ts; its issues 596, 958 and 2432).
 */
export function apiserverOf({ server, credentials }: Access): Apiserver {
  const root = server.replace(/\/$/, '')
  const open = async ({ path, query = {}, signal, ...change }: Call) => {
    const { headers, ...options } = await credentials()
    const { method, type, body } = contentOf(change)
    const outgoing = request(`${root}${path}?${new URLSearchParams(query)}`, {
      ...options,
      signal,
      method,
      headers: { ...fieldsOf(headers), ...HEADERS, ...type },
    })
    // Whoever reads the answer hears of what breaks it; the request itself has nobody to tell then.
    outgoing.on('error', () => {})
    outgoing.end(body)
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const { statusCode = 0 } = response
    if (statusCode === 200 || statusCode === 201) return response
    throw await refusalOf(response)
  }
  const ask = async (call: Call) => {
    try {
      return parse(await text(await open(call)))
    } catch (error) {
      // Node says of every signal that "the operation was aborted".
      throw call.signal.aborted ? call.signal.reason : error
    }
  }
  return { open, ask }
}

const HEADERS = {
  accept: 'application/json',
  'user-agent': 'ridealong',
} as const

/** With a change alone: discovery (`/api/v1`) refuses a GET that says what type of content it has not. */
function contentOf({ patch, apply }: Pick<Call, 'patch' | 'apply'>) {
  if (patch !== undefined) return { method: 'PATCH', type: PATCHES, body: JSON.stringify(patch) }
  if (apply !== undefined) return { method: 'PATCH', type: APPLIES, body: JSON.stringify(apply) }
  return { method: 'GET' }
}

const PATCHES = { 'content-type': 'application/merge-patch+json' } as const

/** JSON is YAML. */
const APPLIES = { 'content-type': 'application/apply-patch+yaml' } as const

async function refusalOf(response: IncomingMessage): Promise<Refusal> {
  const body = await text(response)
  const { statusCode = 0, statusMessage = '' } = response
  return new Refusal(statusCode, messageOf(body) ?? statusMessage)
}

/** @throws an error for what is not a JSON object, in place of one that quotes it */
export function parse(json: string): Fields {
  try {
    const object = fieldsOf(JSON.parse(json))
    if (object !== undefined) return object
  } catch {}
  throw new Error('the apiserver sent what is no JSON object')
}

/** The refusal that a Status object stands for. */
export function refusalIn(status: unknown): Refusal {
  const { code, message } = fieldsOrNone(status)
  return new Refusal(typeof code === 'number' ? code : 0, textOf(message) ?? 'no reason')
}
