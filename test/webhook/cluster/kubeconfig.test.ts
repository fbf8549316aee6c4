import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findCluster } from '../../../webhook/cluster/kubeconfig.ts'

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
  const folder = t.testdir({ one: config('https://one'), other: config('https://other') })
  setEnvironment(t, { KUBECONFIG: join(folder, 'other') })
  const named = await findCluster(join(folder, 'one'))
  t.equal(named.getCurrentCluster()?.server, 'https://one')
  const found = await findCluster(undefined)
  t.equal(found.getCurrentCluster()?.server, 'https://other')
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
