import type { RunningObserver } from '../collect/observers.ts'
import { linesOf } from '../lines.ts'
import { sentenceOf } from '../sentence.ts'
import { ApiProblem, ask } from './api.ts'
import type { Cluster } from './context.ts'

export interface LogAsking {
  readonly follow: boolean
  readonly signal: AbortSignal
}

/** Silence that a log which is not followed may have within it. */
const SILENCE_MS = 60_000

/**
 * The lines of an observer's log, as the kubelet serves them.
 *
 * @throws ApiProblem where there is no log, or the connection broke off
 */
export async function* readLogLines(
  { config }: Cluster,
  { namespace, pod, container }: RunningObserver,
  { follow, signal }: LogAsking,
): AsyncGenerator<string> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`
  const query = { container, follow: String(follow) }
  const response = await ask(config, path, query, { signal, silenceMs: follow ? 0 : SILENCE_MS })
  try {
    yield* linesOf(response)
  } catch (error) {
    throw new ApiProblem(0, `the log broke off: ${sentenceOf(error)}`)
  } finally {
    response.destroy()
  }
}
