import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createProxy } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { pod } from '../../src/runs/collect/pod.ts'
import { answerOf } from '../../src/runs/stacks/answers.ts'
import { standIn } from '../../stand-ins/pod-logs.ts'
import { ownFolder } from '../../tiers/own-folder.ts'
import { buildForTest } from './build-for-test.ts'

// The built command contains a part of @kubernetes/client-node. Each kind of credentials and of
// proxies that kubeconfigs can have must be in this part.

const built = await buildForTest(t)
const folder = ownFolder(t)
const authority = await makeAuthority()
const client = await authority.issue({ names: [], subject: 'CN=alice' })
const base64 = (value: string) => Buffer.from(value).toString('base64')

/** Writes a file of the test, and returns its path. */
function write(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Writes a program that prints a text. */
function writeProgram(name: string, prints: object): string {
  const path = write(name, `#!/bin/sh\ncat <<'END'\n${JSON.stringify(prints)}\nEND\n`)
  chmodSync(path, 0o755)
  return path
}

/** The credentials of a request. */
interface Seen {
  readonly authorization: string | undefined
  /** The common name of the client's certificate. */
  readonly name: unknown
}

const seen: Seen[] = []

/** Starts a server that keeps the credentials of each request, and knows no object. */
async function startServer(): Promise<string> {
  const pair = await authority.issue({ names: ['127.0.0.1', 'localhost', 'apiserver.example'] })
  const options = { ...pair, ca: authority.ca, requestCert: true, rejectUnauthorized: false }
  const server = createServer(options, ({ headers, socket }, response) => {
    const name = (socket as TLSSocket).getPeerCertificate()?.subject?.CN
    seen.push({ authorization: headers.authorization, name })
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end('{"kind":"Status","status":"Failure","code":404,"message":"not found"}')
  })
  return `https://127.0.0.1:${await listen(t, server)}`
}

interface Server {
  listen(port: number, host: string): unknown
  address(): unknown
  close(): unknown
  unref(): unknown
}

async function listen(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server as unknown as NodeJS.EventEmitter, 'listening')
  server.unref()
  t.teardown(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const server = await startServer()

/** Runs the command with a kubeconfig. Returns the credentials of its first request. */
async function callWith(
  user: object,
  cluster: object = {},
  variables: NodeJS.ProcessEnv = {},
): Promise<Seen | undefined> {
  seen.length = 0
  const ca = { 'certificate-authority-data': base64(authority.ca) }
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
    clusters: [{ name: 'c', cluster: { server, ...ca, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  }
  const path = write('kubeconfig', JSON.stringify(config))
  const { stderr } = await built.start(['explain', 'pod/lammps-0', '--kubeconfig', path], variables)
  return seen[0] ?? fail(stderr)
}

function fail(reason: string): never {
  throw new Error(`the server got no request: ${reason}`)
}

const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' }
const credentialOf = (status: object) => ({ ...EXEC, kind: 'ExecCredential', status })

/** Returns a JSON Web Token without a valid signature. */
function webToken(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'RS256' })}.${part(claims)}.c2lnbmF0dXJl`
}

const now = Math.floor(Date.now() / 1000)
const VALID_TOKEN = webToken({ sub: 'alice', exp: now + 3600 })
const OLD_TOKEN = webToken({ sub: 'alice', exp: now - 3600 })

const pem = { cert: write('client.crt', client.cert), key: write('client.key', client.key) }

/** Users of kubeconfigs, and their credentials in a request. */
const USERS: readonly (readonly [string, object, Partial<Seen>])[] = [
  ['a token', { token: 'of-alice' }, { authorization: 'Bearer of-alice' }],
  [
    'a token in a file',
    { tokenFile: write('token', 'of-file\n'), token: 'older' },
    { authorization: 'Bearer of-file' },
  ],
  [
    'a token in a file beside the kubeconfig',
    { tokenFile: 'token' },
    { authorization: 'Bearer of-file' },
  ],
  [
    'a name and a password',
    { username: 'alice', password: 'secret' },
    { authorization: `Basic ${base64('alice:secret')}` },
  ],
  [
    'a certificate',
    {
      'client-certificate-data': base64(client.cert),
      'client-key-data': base64(client.key),
    },
    { name: 'alice' },
  ],
  [
    'a certificate in files',
    { 'client-certificate': pem.cert, 'client-key': pem.key },
    { name: 'alice' },
  ],
  [
    'a plugin that prints a token',
    { exec: { ...EXEC, command: writeProgram('plugin', credentialOf({ token: 'of-plugin' })) } },
    { authorization: 'Bearer of-plugin' },
  ],
  [
    'a plugin that prints a certificate',
    {
      exec: {
        ...EXEC,
        command: writeProgram(
          'certificates',
          credentialOf({ clientCertificateData: client.cert, clientKeyData: client.key }),
        ),
      },
    },
    { name: 'alice' },
  ],
  [
    'a valid token of OpenID Connect',
    { 'auth-provider': { name: 'oidc', config: { 'id-token': VALID_TOKEN } } },
    { authorization: `Bearer ${VALID_TOKEN}` },
  ],
  [
    'a program of Google Cloud',
    {
      'auth-provider': {
        name: 'gcp',
        config: {
          'cmd-path': writeProgram('gcloud', { credential: { access_token: 'of-google' } }),
          'token-key': '{.credential.access_token}',
          'expiry-key': '{.credential.token_expiry}',
        },
      },
    },
    { authorization: 'Bearer of-google' },
  ],
]

for (const [what, user, expected] of USERS) {
  t.test(`the built command reads ${what}`, async (t) => {
    t.match(await callWith(user), expected)
  })
}

t.test('the built command renews a token of OpenID Connect', async (t) => {
  const fresh: { token: string } = { token: '' }
  const issuer = createServer(
    await authority.issue({ names: ['127.0.0.1'] }),
    async (request, response) => {
      const body = await text(request)
      if (request.url === '/token') t.match(body, 'grant_type=refresh_token')
      answerIssuer(request, response, address, fresh.token)
    },
  )
  const address = `https://127.0.0.1:${await listen(t, issuer)}`
  fresh.token = webToken({ iss: address, aud: 'ridealong', sub: 'a', iat: now, exp: now + 3600 })
  const config = {
    'id-token': OLD_TOKEN,
    'refresh-token': 'old',
    'client-id': 'ridealong',
    'idp-issuer-url': address,
  }
  // client-node 2.0.1 cannot renew a token if the kubeconfig names the CA of the provider.
  const variables = { NODE_EXTRA_CA_CERTS: write('ca.crt', authority.ca) }
  const request = await callWith({ 'auth-provider': { name: 'oidc', config } }, {}, variables)
  t.match(request, { authorization: `Bearer ${fresh.token}` })
})

/** Answers like an OpenID provider (OpenID Connect Discovery 1.0; RFC 6749, section 6). */
function answerIssuer(
  { url }: IncomingMessage,
  response: ServerResponse,
  issuer: string,
  token: string,
): void {
  const metadata = {
    ...{ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` },
    id_token_signing_alg_values_supported: ['RS256'],
  }
  const tokens = { token_type: 'Bearer', access_token: 'a', refresh_token: 'new', id_token: token }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(url === '/token' ? { ...tokens, expires_in: 3600 } : metadata))
}

t.test('the built command calls a server through a proxy of HTTP', async (t) => {
  const targets: (string | undefined)[] = []
  const proxy = createProxy().on('connect', ({ url }, socket) => {
    targets.push(url)
    const upstream = connect(Number(new URL(server).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      joinSockets(upstream, socket as Socket)
    })
  })
  const port = await listen(t, proxy)
  const cluster = { 'proxy-url': `http://127.0.0.1:${port}` }
  t.match(await callWith({ token: 'proxied' }, cluster), { authorization: 'Bearer proxied' })
  t.equal(targets[0], server.replace('https://', ''))
})

t.test('the built command calls a server through a proxy of SOCKS', async (t) => {
  let connections = 0
  const proxy = createTcpServer(async (socket) => {
    connections += 1
    // RFC 1928: a greeting, then a request to connect, of which the answers are fixed.
    await once(socket, 'data')
    socket.write(Buffer.from([5, 0]))
    await once(socket, 'data')
    socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
    joinSockets(connect(Number(new URL(server).port), '127.0.0.1'), socket)
  })
  const port = await listen(t, proxy)
  // socks-proxy-agent does not check IP addresses in certificates.
  const named = server.replace('127.0.0.1', 'localhost')
  const cluster = { 'proxy-url': `socks5h://127.0.0.1:${port}`, server: named }
  t.match(await callWith({ token: 'socks' }, cluster), { authorization: 'Bearer socks' })
  t.ok(connections > 0)
})

function joinSockets(one: Socket, other: Socket): void {
  for (const socket of [one, other]) socket.on('error', () => {})
  one.pipe(other)
  other.pipe(one)
}

t.test('the built command checks the certificate of the server', async (t) => {
  const other = await makeAuthority()
  const wrong = { 'certificate-authority-data': base64(other.ca) }
  await t.rejects(callWith({ token: 'a' }, wrong), /self-signed|unable to verify/)
  const unchecked = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }
  t.match(await callWith({ token: 'b' }, unchecked), { authorization: 'Bearer b' })
  const named = { 'tls-server-name': 'apiserver.example' }
  t.match(await callWith({ token: 'c' }, named), { authorization: 'Bearer c' })
  const misnamed = { 'tls-server-name': 'other.example' }
  await t.rejects(callWith({ token: 'd' }, misnamed), /other\.example/)
})

t.test('the built command runs programs in containers', async (t) => {
  const { kubeconfig } = await standIn(t, {
    pods: () => [pod({ index: 0, metrics: ['vitals'], state: { running: {} }, phase: 'Running' })],
    logs: {},
    exec: () => ({
      exitCode: 0,
      stdout: answerOf([{ pid: 7, rank: 0, threads: [{ stack: ['main', 'run'] }] }]),
    }),
  })
  const words = ['stacks', 'job/lammps', '-n', 'hpc', '--kubeconfig', kubeconfig]
  t.strictSame(await built.start(words), { status: 0, stdout: 'rank 0: main > run\n', stderr: '' })
})
