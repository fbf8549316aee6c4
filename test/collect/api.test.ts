import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'
import t, { type Test } from 'tap'
import { ask } from '../../src/cluster/api.ts'

/** A server that answers as it is told, and how to reach it. */
async function serverOf(t: Test, answer: Parameters<typeof createServer>[1]): Promise<KubeConfig> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const config = new KubeConfig()
  const cluster = { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }
  config.loadFromClusterAndUser(cluster, { name: 'u' })
  return config
}

t.test('an apiserver that takes the call and says nothing is given up', async (t) => {
  const config = await serverOf(t, () => {})
  await t.rejects(ask(config, '/api', {}, { silenceMs: 200 }), {
    name: 'ApiProblem',
    message: /^the API at http:\/\/127\.0\.0\.1:\d+ does not answer: silent for 0\.2 seconds$/,
  })
})

t.test('an answer that stops in the middle is no whole answer', async (t) => {
  const config = await serverOf(t, (_request, response) => {
    response.write('half')
  })
  const response = await ask(config, '/api', {}, { silenceMs: 200 })
  await t.rejects(text(response), /silent for 0\.2 seconds/)
})

t.test('a caller that has enough ends the call', async (t) => {
  const config = await serverOf(t, (_request, response) => {
    response.write('half')
  })
  const enough = new AbortController()
  const response = await ask(config, '/api', {}, { silenceMs: 0, signal: enough.signal })
  setTimeout(() => enough.abort(), 50)
  await t.rejects(text(response), { message: 'aborted' })
})

t.test('a proxy that answers in its own way is heard too', async (t) => {
  const config = await serverOf(t, (_request, response) => {
    response.writeHead(502, 'Bad Gateway').end('<html>')
  })
  const refused = { name: 'ApiProblem', status: 502, message: '502 Bad Gateway' }
  await t.rejects(ask(config, '/api', {}, { silenceMs: 5000 }), refused)
})
