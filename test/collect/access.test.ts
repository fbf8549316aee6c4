import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { findCluster } from '../../src/cluster/access.ts'
import { apiserverOf } from '../../src/cluster/apiserver.ts'
import { startStandIn } from '../apiserver.ts'

const config = (server: string) => `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

/** Sets variables of the environment for one test; undefined takes one away. */
function setEnvironment(t: Test, variables: Readonly<Record<string, string | undefined>>): void {
  t.intercept(process, 'env', { value: { ...process.env, ...variables } })
}

t.test('the file that was named is taken, else that of KUBECONFIG', async (t) => {
  const more = 'apiVersion: v1\nkind: Config\n'
  const folder = t.testdir({ one: config('https://one'), other: config('https://other'), more })
  setEnvironment(t, { KUBECONFIG: join(folder, 'other') })
  const named = await findCluster(join(folder, 'one'))
  t.equal(named.server, 'https://one')
  const found = await findCluster(undefined)
  t.equal(found.server, 'https://other')
  setEnvironment(t, { KUBECONFIG: [join(folder, 'one'), join(folder, 'more')].join(delimiter) })
  t.equal((await findCluster(undefined)).server, 'https://one', 'of several the first says which')
})

const askVersion = { path: '/api/v1/namespaces', signal: new AbortController().signal }

t.test('a kubeconfig opens the cluster that it names', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  const authority = Buffer.from(ca).toString('base64')
  const server = `https://127.0.0.1:${port}/`
  const cluster = { server, 'certificate-authority-data': authority }
  const folder = t.testdir({
    config: JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'a-token' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  })
  const api = apiserverOf(await findCluster(join(folder, 'config')))
  t.match(await api.ask(askVersion), { items: [] })
  t.strictSame(standIn.authorizations, ['Bearer a-token'])
})

t.test('a pod opens the cluster around it, with the token of the moment', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  const folder = t.testdir({ 'ca.crt': ca, token: 'one\n' })
  setEnvironment(t, {
    KUBECONFIG: undefined,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: `${port}`,
  })
  const api = apiserverOf(await findCluster(undefined, folder))
  await api.ask(askVersion)
  writeFileSync(join(folder, 'token'), 'two')
  await api.ask(askVersion)
  t.strictSame(standIn.authorizations, ['Bearer one', 'Bearer two'])
})

t.test('the address of a cluster may be of IPv6', async (t) => {
  setEnvironment(t, {
    KUBECONFIG: '',
    KUBERNETES_SERVICE_HOST: 'fd00::1',
    KUBERNETES_SERVICE_PORT: '443',
  })
  const { server } = await findCluster(undefined, t.testdir({ token: '' }))
  t.equal(server, 'https://[fd00::1]:443')
})

t.test('without any there is one sentence that says what would be right', async (t) => {
  setEnvironment(t, { KUBECONFIG: undefined, KUBERNETES_SERVICE_HOST: undefined })
  await t.rejects(findCluster(undefined), {
    message: /^no cluster to watch: neither --kubeconfig nor KUBECONFIG .* --namespaces FILE/,
  })
})

t.test('a file that does not hold is named', async (t) => {
  const folder = t.testdir({
    empty: '',
    list: '[]',
    bad: 'a: [',
    'no-context': 'apiVersion: v1\nkind: Config\n',
    plain: config('http://localhost:8001'),
  })
  for (const [name, message] of [
    ['none', /none holds no kubeconfig: ENOENT/],
    ['empty', /empty (holds|names) no /],
    ['list', /list (holds|names) no /],
    ['bad', /bad holds no kubeconfig: /],
    ['no-context', /no-context names no cluster/],
    ['plain', /plain: http:\/\/localhost:8001 must begin with https:\/\//],
  ] as const) {
    const path = join(folder, name)
    const error: Error = await findCluster(path).then(
      () => new Error('it was taken'),
      (error) => error,
    )
    t.match(error.message, message)
    t.ok(error.message.startsWith(path), error.message)
    t.notMatch(error.message, '\n')
  }
  writeFileSync(join(folder, 'good'), config('https://good'))
  t.ok(await findCluster(join(folder, 'good')))
})
