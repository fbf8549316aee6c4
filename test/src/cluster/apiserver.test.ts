import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type Apiserver, connectApiserver } from '../../../src/cluster/apiserver.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const signal = new AbortController().signal

/** Starts a server with these answers, without TLS, like `kubectl proxy`. Returns its client. */
async function serverOf(t: Test, answer: Answer): Promise<Apiserver> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return connectApiserver({ server: `http://127.0.0.1:${port}`, credentials: async () => ({}) })
}

t.test('each change is sent as the request that Kubernetes defines for it', async (t) => {
  const api = await serverOf(t, async (request, response) => {
    const { method, url, headers } = request
    const body = await text(request)
    const code = { POST: 201, DELETE: 202 }[method ?? ''] ?? 200
    response
      .writeHead(code)
      .end(JSON.stringify({ method, url, body, type: headers['content-type'] }))
  })
  const path = '/api/v1/namespaces'
  const object = { metadata: { name: 'a' } }
  const body = JSON.stringify(object)
  t.strictSame(await api.ask({ path, signal }), { method: 'GET', url: path, body: '' })
  t.match(await api.ask({ path, create: object, query: { dryRun: 'All' }, signal }), {
    method: 'POST',
    url: `${path}?dryRun=All`,
    body,
    type: 'application/json',
  })
  const patched = { method: 'PATCH', body }
  t.match(await api.ask({ path, patch: object, signal }), {
    ...patched,
    type: 'application/merge-patch+json',
  })
  t.match(await api.ask({ path, apply: object, signal }), {
    ...patched,
    type: 'application/apply-patch+yaml',
  })
  t.match(await api.ask({ path, delete: { uid: 'b' }, signal }), {
    method: 'DELETE',
    body: '{"preconditions":{"uid":"b"}}',
    type: 'application/json',
  })
})

const REFUSALS: readonly (readonly [string, string, string])[] = [
  ["the apiserver's message", '{"kind":"Status","message":"no"}', 'no'],
  ['the status text instead of an HTML page', '<html>', 'Bad Gateway'],
  ['the status text if the body is empty', '', 'Bad Gateway'],
]

for (const [what, body, said] of REFUSALS) {
  t.test(`the error of a refused request shows ${what}`, async (t) => {
    const api = await serverOf(t, (_request, response) => {
      response.writeHead(502, 'Bad Gateway').end(body)
    })
    const message = `the apiserver says 502: ${said}`
    await t.rejects(api.ask({ path: '/api', signal }), { status: 502, said, message })
  })
}

t.test('a request without an answer ends after its timeout', async (t) => {
  const api = await serverOf(t, () => {})
  const asked = api.ask({ path: '/api', signal, silenceMs: 200 })
  await t.rejects(asked, { message: 'no data for 0.2 seconds' })
})

t.test('an answer that stops in the middle is an error', async (t) => {
  const api = await serverOf(t, (_request, response) => {
    response.write('half')
  })
  // The time is also the limit for the head of the answer, which must arrive on a busy machine.
  const response = await api.open({ path: '/api', signal, silenceMs: 3000 })
  await t.rejects(text(response), { message: 'no data for 3 seconds' })
})

t.test('a caller can abort a response', async (t) => {
  const api = await serverOf(t, (_request, response) => {
    response.write('half')
  })
  const enough = new AbortController()
  const response = await api.open({ path: '/api', signal: enough.signal })
  setTimeout(() => enough.abort(), 50)
  await t.rejects(text(response), { message: 'aborted' })
})

t.test('a caller that aborts a request gets the reason that it gave', async (t) => {
  const enough = new AbortController()
  const api = await serverOf(t, () => enough.abort(new Error('enough')))
  await t.rejects(api.ask({ path: '/api', signal: enough.signal }), { message: 'enough' })
})
