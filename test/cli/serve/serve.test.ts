import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority, writeKeyPair } from '../../../certs/make.ts'
import { freePort } from '../../free-ports.ts'
import { until } from '../../until.ts'
import {
  ASKING,
  addedNames,
  call,
  inTime,
  keepAliveAgent,
  NAMES,
  NAMESPACES,
  podOf,
  post,
  reviewOf,
} from '../../webhook/server.ts'
import { run, start } from '../command.ts'

const authority = await makeAuthority()
const { ca } = authority

/** Returns the arguments of a server whose files are in the test's folder. */
async function optionsOf(t: Test): Promise<string[]> {
  const folder = t.testdir({ 'ns.yaml': NAMESPACES })
  await writeKeyPair(folder, authority, { names: NAMES })
  const files = ['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')]
  const ports = ['--host', '127.0.0.1', '--port', '0', '--status-port', '0']
  return ['serve', ...files, '--namespaces', join(folder, 'ns.yaml'), ...ports]
}

/** Starts `ridealong serve`, and waits until the server listens. */
async function startServe(t: Test, ...more: string[]) {
  const child = start([...(await optionsOf(t)), ...more])
  t.teardown(() => child.kill('SIGKILL'))
  const log = { text: '' }
  child.stdout?.on('data', (chunk) => {
    log.text += chunk
  })
  const errors = child.stderr ? text(child.stderr) : Promise.resolve('')
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const lines = () =>
    log.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  await until('the server listens', () => lines().some(({ msg }) => msg === 'listening'))
  const { port, statusPort } = lines().find(({ msg }) => msg === 'listening')
  return { child, port, statusPort, lines, errors, ended }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(
    `after ${signal}, serve drains, answers while it drains, and ends with exit code 0`,
    async (t) => {
      // The late request must arrive within this time after the signal, also on a busy machine.
      const server = await startServe(t, '--drain-quiet', '5')
      const { port, statusPort, child } = server
      const agent = keepAliveAgent(t)
      const first = await post({ port, ca }, '/mutate/pods', reviewOf(ASKING), agent)
      t.strictSame(addedNames(first), ['perf-sysstat'])
      t.equal((await call({ port: statusPort, path: '/readyz' })).status, 200)
      child.kill(signal)
      await until('the server is not ready', async () => {
        return (await call({ port: statusPort, path: '/readyz' })).status === 503
      })
      const late = await post({ port, ca }, '/mutate/pods', reviewOf(ASKING), agent)
      t.strictSame(addedNames(late), ['perf-sysstat'], 'the server still answers')
      t.equal(late.headers.connection, 'close')
      t.strictSame(await inTime(server.ended), { code: 0, signal: null })
      t.equal(await server.errors, '')
      const said = server.lines().map(({ msg }) => msg)
      t.strictSame(said, ['listening', 'pod', 'draining', 'pod', 'closed'])
      t.match(
        server.lines().find(({ msg }) => msg === 'draining'),
        { signal },
      )
    },
  )
}

t.test('the options of serve reach the server', async (t) => {
  const image = 'example.com/mirror/observer:2'
  const options = ['--drain-quiet', '0', '--exclude-namespace', 'lab', '--log-level', 'error']
  const catalog = ['--observer-image', image, '--pod-security-default', 'restricted']
  const port = await freePort()
  const child = start([...(await optionsOf(t)), ...options, ...catalog, '--port', `${port}`])
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  const target = { port, ca }
  await until('the server listens', () =>
    post(target, '/mutate/pods', reviewOf(ASKING)).then(
      () => true,
      () => false,
    ),
  )
  const user = { spec: { securityContext: { runAsNonRoot: true }, containers: [{ name: 'app' }] } }
  const asking = podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, user)
  const answer = await post(target, '/mutate/pods', reviewOf(asking))
  t.match(Buffer.from(JSON.parse(answer.body).response.patch, 'base64').toString(), image)
  const excluded = await post(target, '/mutate/pods', reviewOf(ASKING, { namespace: 'lab' }))
  t.strictSame(addedNames(excluded), [])
  const left = await post(target, '/mutate/pods', reviewOf(ASKING))
  t.match(left.body, /pod-security/, 'the Pod Security default forbids an observer as root')
  child.kill('SIGTERM')
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  t.equal(out, '', 'only messages of the level error are logged')
})

t.test('a missing file or folder is reported in one sentence that names the path', async (t) => {
  const options = await optionsOf(t)
  for (const [change, sentence] of [
    [['--cert', 'none.crt'], /^ridealong: .*none\.crt.*\n$/],
    [['--key', 'none.key'], /^ridealong: .*none\.key.*\n$/],
    [['--namespaces', 'none.yaml'], /^ridealong: .*none\.yaml.*\n$/],
    [['--catalog', 'none'], /^ridealong: .*none.*\n$/],
  ] as const) {
    const { code, out, err } = await run([...options, ...change])
    t.equal(code, 2)
    t.match(err, sentence)
    t.equal(out, '')
  }
})

t.test('a port that is in use is reported, and serve ends with exit code 2', async (t) => {
  const other = createServer()
  t.teardown(() => other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port } = other.address() as AddressInfo
  for (const option of ['--port', '--status-port']) {
    const { code, err } = await run([...(await optionsOf(t)), option, `${port}`])
    t.equal(code, 2)
    t.match(err, new RegExp(`^ridealong: .*EADDRINUSE.*:${port}\\n$`))
  }
})

t.test(
  'with --client-ca and --client-name, only reviews of the named clients are accepted',
  async (t) => {
    const names = ['--client-name', 'apiserver', 'other']
    // writeKeyPair writes ca.crt beside the key pair, into the test's folder, which is named after
    // the test.
    const { port } = await startServe(t, '--client-ca', join(t.testdirName, 'ca.crt'), ...names)
    const postAs = async (subject: string) => {
      const pair = await authority.issue({ names: [], subject })
      return post({ port, ca }, '/mutate/pods', reviewOf(ASKING), keepAliveAgent(t, pair))
    }
    t.equal((await postAs('CN=apiserver')).status, 200)
    t.equal((await postAs('CN=other')).status, 200)
    t.equal((await postAs('CN=stranger')).status, 403)
    await t.rejects(post({ port, ca }, '/mutate/pods', reviewOf(ASKING)))
  },
)

t.test(
  '--client-name without --client-ca is refused, because serve would accept every client',
  async (t) => {
    const { code, err } = await run([...(await optionsOf(t)), '--client-name', 'apiserver'])
    t.equal(code, 2)
    t.match(err, /--client-name needs --client-ca/)
  },
)
