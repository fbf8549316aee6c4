import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { type RequestOptions, request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import type { KubeConfig } from '@kubernetes/client-node'
import { sentenceOf } from '../sentence.ts'
import { messageOf } from '../status-message.ts'

/** An answer of the apiserver that is no success, or none at all (status 0), in its own words. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Asking {
  readonly signal?: AbortSignal | undefined
  /** The most milliseconds of silence, before the answer begins and within it; 0 for no bound. */
  readonly silenceMs: number
}

/** No answer takes an apiserver so long, unless it has gone. */
const SILENCE_MS = 20_000

/**
 * Asks the apiserver for a path and answers with the stream of its 200. Plain node:https with the
 * credentials of client-node: its own reader of logs drops the apiserver's message, and a
 * connection that breaks off throws past every handler (client-node 2.0.1 dist/log.js).
 *
 * @throws ApiProblem where the apiserver refuses, or does not answer
 */
export async function ask(
  config: KubeConfig,
  path: string,
  query: Readonly<Record<string, string>>,
  { signal, silenceMs }: Asking,
): Promise<IncomingMessage> {
  const server = config.getCurrentCluster()?.server ?? ''
  const url = new URL(`${server.replace(/\/$/, '')}${path}?${new URLSearchParams(query)}`)
  const options: RequestOptions = { method: 'GET', headers: {}, ...(signal && { signal }) }
  await config.applyToHTTPSOptions(options)
  const request = (url.protocol === 'http:' ? plainRequest : secureRequest)(url, options)
  // A follower of a log may wait for hours; a peer that died is then noticed by TCP alone.
  request.setSocketKeepAlive(true, 30_000)
  const response = await answerOf(request.end(), silenceMs).catch((error: unknown) => {
    throw new ApiProblem(0, `the API at ${url.origin} does not answer: ${reasonOf(error)}`)
  })
  if (response.statusCode === 200) return response
  throw await problemOf(response, url.origin)
}

async function answerOf(request: ClientRequest, silenceMs: number): Promise<IncomingMessage> {
  let response: IncomingMessage | undefined
  // A request that is destroyed drops what its answer still had to say, as if that were whole.
  request.setTimeout(silenceMs, () => {
    const stream = response ?? request
    stream.destroy(new Error(`silent for ${silenceMs / 1000} seconds`))
  })
  const answered = once(request, 'response')
  request.on('error', () => {})
  ;[response] = (await answered) as [IncomingMessage]
  return response
}

/**
 * Asks for a JSON document.
 *
 * @throws ApiProblem, also where the answer is no JSON
 */
export async function askJson(
  config: KubeConfig,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await ask(config, path, query, { silenceMs: SILENCE_MS })
  try {
    return JSON.parse(await text(response))
  } catch (error) {
    throw new ApiProblem(0, `the API's answer is not JSON: ${reasonOf(error)}`)
  }
}

/** An error of the system, also one of several addresses that all refused. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return sentenceOf(error)
}

/** The apiserver answers with a Status that says why, a proxy before it with anything. */
async function problemOf(response: IncomingMessage, origin: string): Promise<ApiProblem> {
  const status = response.statusCode ?? 0
  const body = await text(response).catch(() => '')
  const message = messageOf(body) ?? `${status} ${response.statusMessage ?? ''}`.trim()
  if (status === 401)
    return new ApiProblem(
      status,
      `the API at ${origin} does not accept the credentials: ${message}`,
    )
  return new ApiProblem(status, message)
}
