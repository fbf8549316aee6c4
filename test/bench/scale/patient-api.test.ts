import t from 'tap'
import type { Answer, Api } from '../../cluster/api.ts'
import { inParallel, patient } from './patient-api.ts'

const answer = (status: number, body: unknown = {}): Answer => ({ status, body, warnings: [] })

/** Returns an API whose calls have these results, one after the other, and the list of calls. */
function apiWith(...results: readonly (Answer | Error)[]) {
  const calls: string[] = []
  const call = (method: string) => async (path: string) => {
    const result = results[calls.length] ?? answer(200)
    calls.push(`${method} ${path}`)
    if (result instanceof Error) throw result
    return result
  }
  const api: Api = {
    get: call('GET'),
    post: call('POST'),
    merge: call('PATCH'),
    delete: call('DELETE'),
    close: () => {},
  }
  return { api: patient(api), calls }
}

const POD = { metadata: { name: 'pod-1' } }

t.test('calls that a busy apiserver did not answer are repeated', async (t) => {
  const { api, calls } = apiWith(new Error('socket hang up'), answer(429), answer(503), answer(201))
  t.equal((await api.post('/pods', POD)).status, 201)
  t.equal(calls.length, 4)
})

t.test('a pod is created again if its namespace has no service account yet', async (t) => {
  const message = 'error looking up service account a/default: serviceaccount "default" not found'
  const { api, calls } = apiWith(answer(403, { message }), answer(201))
  t.equal((await api.post('/pods', POD)).status, 201)
  t.equal(calls.length, 2)
})

t.test('other refusals are returned', async (t) => {
  const { api, calls } = apiWith(answer(403, { message: 'forbidden' }))
  t.equal((await api.post('/pods', POD)).status, 403)
  t.equal(calls.length, 1)
})

t.test('an object whose creation was not answered is read', async (t) => {
  const { api, calls } = apiWith(new Error('socket hang up'), answer(409), answer(200, POD))
  t.match(await api.post('/pods', POD), { status: 201, body: POD })
  t.strictSame(calls, ['POST /pods', 'POST /pods', 'GET /pods/pod-1'])
})

t.test('results are in the order of the numbers, with a limited number at once', async (t) => {
  let now = 0
  let most = 0
  const results = await inParallel(10, 3, async (index) => {
    now += 1
    most = Math.max(most, now)
    await new Promise((resolve) => setTimeout(resolve, 10 - index))
    now -= 1
    return index
  })
  t.strictSame(results, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  t.equal(most, 3)
})
