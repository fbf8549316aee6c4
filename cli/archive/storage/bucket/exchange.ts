import { once } from 'node:events'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { MeasuredContent } from './object-content.ts'

export interface ServiceAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface ExchangeLimits {
  /** The longest time without data, in milliseconds. */
  readonly silenceMs: number
  /** The longest time for all, in milliseconds. */
  readonly longestMs: number
}

/** The maximum size of a response: a list of a thousand objects has less than a megabyte. */
const MAX_BYTES = 32 * 2 ** 20

/**
 * Sends a request with a body, and reads the response. The body is streamed.
 *
 * @param begin opens the request
 * @throws a network error, or an error if a limit is reached
 */
export async function exchange(
  begin: () => ClientRequest,
  content: MeasuredContent,
  { silenceMs, longestMs }: ExchangeLimits,
): Promise<ServiceAnswer> {
  const outgoing = begin()
  let response: IncomingMessage | undefined
  const stop = (reason: string) => (response ?? outgoing).destroy(new Error(reason))
  const late = `the request took longer than ${longestMs / 1000} seconds`
  const timer = setTimeout(stop, longestMs, late)
  outgoing.setTimeout(silenceMs, () => stop(`no data for ${silenceMs / 1000} seconds`))
  // After the response has begun, its reader receives any error.
  outgoing.on('error', () => {})
  try {
    const sent = pipeline(content.open(), outgoing)
    // A service that refuses a request may answer before it has read the body.
    sent.catch(() => {})
    ;[response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const { statusCode: status = 0, headers } = response
    const answer = { status, headers, body: await readBody(response) }
    if (answer.status < 300) await sent
    return answer
  } finally {
    clearTimeout(timer)
    if (!outgoing.writableFinished) outgoing.destroy()
  }
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error('the response is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
