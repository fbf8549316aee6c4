import { errorMessage } from '../lib/error-message.ts'
import { splitLines } from '../lib/split-lines.ts'
import type { Apiserver } from './apiserver.ts'

/** The container whose log is read. */
export interface LoggingContainer {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogAsking {
  readonly follow: boolean
  readonly signal: AbortSignal
}

/** Silence that a log which is not followed may have within it. */
const SILENCE_MS = 60_000

/**
 * The lines of an observer's log, as the kubelet serves them.
 *
 * @throws Refusal where there is no log, or an error where the connection is not made or broke off
 */
export async function* readLogLines(
  { open }: Apiserver,
  { namespace, pod, container }: LoggingContainer,
  { follow, signal }: LogAsking,
): AsyncGenerator<string> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`
  const query = { container, follow: String(follow) }
  const response = await open({ path, query, signal, silenceMs: follow ? 0 : SILENCE_MS })
  try {
    yield* splitLines(response)
  } catch (error) {
    throw new Error(`the log broke off: ${errorMessage(error)}`)
  } finally {
    response.destroy()
  }
}
