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

/** The maximum time without data in a log that is not followed, in milliseconds. */
const SILENCE_MS = 60_000

/**
 * Reads the lines of a container's log from the kubelet, through the apiserver.
 *
 * @throws Refusal if there is no log; another error if the connection cannot be made or breaks
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
    throw new Error(`the connection broke while the log was read: ${errorMessage(error)}`)
  } finally {
    response.destroy()
  }
}
