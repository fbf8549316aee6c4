import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api } from '../../cluster/api.ts'

const ATTEMPTS = 8
const FIRST_PAUSE_MS = 100

/**
 * Repeats calls that a busy apiserver did not answer: broken connections, 429 (too many requests)
 * and errors of the server. A pod is also created again if its namespace has no service account
 * yet.
 */
export function patient(api: Api): Api {
  return {
    ...api,
    get: (path) => repeat(() => api.get(path)),
    merge: (path, patch) => repeat(() => api.merge(path, patch)),
    delete: (path) => repeat(() => api.delete(path)),
    async post(path, object) {
      const answer = await repeat(() => api.post(path, object))
      if (answer.status !== 409) return answer
      // An earlier attempt, whose answer was lost, has created the object.
      const { name } = (object as { readonly metadata: { readonly name: string } }).metadata
      const found = await repeat(() => api.get(`${path}/${name}`))
      return found.status === 200 ? { ...found, status: 201 } : answer
    },
  }
}

async function repeat(attempt: () => Promise<Answer>): Promise<Answer> {
  for (let pause = FIRST_PAUSE_MS, left = ATTEMPTS; ; pause *= 2, left -= 1) {
    const answer = await attempt().catch((error: unknown) => {
      if (left === 0) throw error
    })
    if (answer !== undefined && (left === 0 || !isPassing(answer))) return answer
    await sleep(pause)
  }
}

function isPassing({ status, body }: Answer): boolean {
  if (status === 429 || status >= 500) return true
  return status === 403 && /serviceaccount .* not found/.test(body?.message ?? '')
}

/**
 * Calls `work` with each number from 0 to `count` - 1, some at the same time.
 *
 * @returns the results in the order of the numbers
 */
export async function inParallel<T>(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      const index = next
      next += 1
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, worker))
  return results
}

/** Throws an error with the message of the apiserver if a request did not succeed. */
export function succeeded(answer: Answer): Answer {
  if (answer.status < 300) return answer
  throw new Error(`the apiserver answered ${answer.status}: ${answer.body?.message}`)
}
