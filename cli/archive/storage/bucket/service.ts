import { Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { type Backoff, backoffMs, jittered, pause } from '../../../../src/lib/pause.ts'
import { type ExchangeLimits, exchange, type ServiceAnswer } from './exchange.ts'
import type { MeasuredContent } from './object-content.ts'
import { isTemporary, readServiceError } from './service-error.ts'

/** Timeouts of requests to a service, and the pauses between attempts, in milliseconds. */
export interface ServicePace extends ExchangeLimits {
  readonly repeating: Backoff
}

export const SERVICE_PACE: ServicePace = {
  silenceMs: 30_000,
  longestMs: 1_800_000,
  repeating: { pauseMs: 250, longestPauseMs: 2000 },
}

/** A request as it is sent. */
export interface ServiceRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'POST'
  readonly url: string | URL
  readonly headers: Readonly<Record<string, string | number>>
  readonly content: MeasuredContent
}

/** The connections to a service of Amazon Web Services, or to another with its API. */
export interface Service {
  /**
   * Sends a request until it succeeds, fails for a reason that does not pass, or has failed as
   * often as `ATTEMPTS`.
   *
   * @param prepare makes the request of an attempt, such as one with a signature of this time
   * @throws a ServiceError, or an error of the network
   */
  send(prepare: () => Promise<ServiceRequest>): Promise<ServiceAnswer>
  /** Ends the requests that are under way. */
  close(): void
}

/** The maximum number of attempts of a request, including the first one. */
const ATTEMPTS = 3

/**
 * Prepares connections to a service. Nothing is sent yet.
 *
 * @param ca the certificates that verify the one of the service, in PEM format, in place of the
 * usual
 */
export function connectService(
  { protocol }: URL,
  ca: string | undefined,
  pace = SERVICE_PACE,
): Service {
  const isPlain = protocol === 'http:'
  const agent = new (isPlain ? PlainAgent : SecureAgent)({ keepAlive: true, timeout: 5000 })
  const closed = new AbortController()
  const { signal } = closed
  const sendOnce = async ({ url, content, ...options }: ServiceRequest) => {
    const request = isPlain ? plainRequest : secureRequest
    const answer = await exchange(
      () => request(url, { agent, ca, signal, ...options }),
      content,
      pace,
    )
    const { status, body } = answer
    if (status < 200 || status > 299) throw readServiceError(status, String(body))
    return answer
  }
  return {
    send: (prepare) => repeat(async () => sendOnce(await prepare()), pace, signal),
    close() {
      closed.abort()
      agent.destroy()
    },
  }
}

async function repeat<Result>(
  send: () => Promise<Result>,
  { repeating }: ServicePace,
  signal: AbortSignal,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      if (attempt === ATTEMPTS || signal.aborted || !isTemporary(error)) throw error
      await pause(jittered(backoffMs(repeating, attempt - 1)), signal)
    }
  }
}
