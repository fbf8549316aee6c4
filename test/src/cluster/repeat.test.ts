import t from 'tap'
import { ApiError } from '../../../src/cluster/api-error.ts'
import { isTemporary, pauseAfter, repeat } from '../../../src/cluster/repeat.ts'

t.test('broken connections, 429 and 5xx are temporary', async (t) => {
  for (const status of [429, 500, 502, 503, 504])
    t.ok(isTemporary(new ApiError(status, '')), `${status}`)
  for (const status of [400, 401, 403, 404, 410])
    t.notOk(isTemporary(new ApiError(status, '')), `${status}`)
  t.ok(isTemporary(new Error('read ECONNRESET')))
})

t.test('each pause is about twice as long as the pause before', async (t) => {
  const middle = [1, 2, 3, 4].map((attempt) => pauseAfter(attempt, undefined, 0.5))
  t.strictSame(middle, [500, 1000, 2000, 4000])
  t.equal(pauseAfter(1, undefined, 0), 375)
  t.equal(pauseAfter(1, undefined, 0.999) < 625, true)
})

t.test('a pause is at least as long as the apiserver demands', async (t) => {
  t.equal(pauseAfter(1, new ApiError(429, 'too many requests', 3000), 0.5), 3000)
  t.equal(pauseAfter(4, new ApiError(429, 'too many requests', 3000), 0.5), 4000)
})

t.test(
  'a permanent error is thrown at once, and a temporary one after five attempts',
  async (t) => {
    let calls = 0
    const failing = (status: number) => async () => {
      calls += 1
      throw new ApiError(status, 'no')
    }
    await t.rejects(repeat(failing(403)), { message: /says 403: / })
    t.equal(calls, 1)
    calls = 0
    await t.rejects(repeat(failing(503)), { message: /says 503: / })
    t.equal(calls, 5)
  },
)
