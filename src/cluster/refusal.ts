import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { asText, fieldsOrNone } from '../core/kubernetes/json.ts'
import { printable } from '../core/text/printable.ts'

/** The apiserver's own no, or the ERROR event of a watch (meta/v1 Status). */
export class Refusal extends Error {
  readonly status: number
  /** In the apiserver's own words, or a proxy's, in one line. */
  readonly said: string

  constructor(status: number, said: string) {
    const shown = printable(said)
    super(`the apiserver says ${status}: ${shown}`)
    this.status = status
    this.said = shown
  }
}

/** Whether the apiserver knows no such object, or no such kind. */
export function isMissing(error: unknown): boolean {
  return error instanceof Refusal && error.status === 404
}

/** Whether there is such an object already, or another version of it than the one that was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.status === 409
}

const NO_REASON = 'no reason'

/** The refusal that an answer is. The apiserver's has a Status that says why, a proxy's before it anything. */
export async function readRefusal(response: IncomingMessage): Promise<Refusal> {
  const body = await text(response).catch(() => '')
  const { statusCode = 0, statusMessage = '' } = response
  return new Refusal(statusCode, readMessage(body) ?? (statusMessage || NO_REASON))
}

function readMessage(body: string): string | undefined {
  try {
    return asText(fieldsOrNone(JSON.parse(body)).message)
  } catch {
    return undefined
  }
}

/** The refusal that a Status object stands for. */
export function refusalIn(status: unknown): Refusal {
  const { code, message } = fieldsOrNone(status)
  return new Refusal(typeof code === 'number' ? code : 0, asText(message) ?? NO_REASON)
}
