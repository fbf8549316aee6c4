import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { findCluster, hasCluster } from '../../../src/cluster/access.ts'
import { connectApiserver } from '../../../src/cluster/apiserver.ts'
import type { Cluster } from '../../../src/cluster/cluster.ts'
import { startStandIn } from '../../stand-ins/apiserver.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'

t.test('the kubeconfig option has priority over KUBECONFIG', async (t) => {
  const more = 'apiVersion: v1\nkind: Config\n'
  const folder = t.testdir({
    one: kubeconfigOf('https://one'),
    other: kubeconfigOf('https://other'),
    more,
  })
  const environment = { KUBECONFIG: join(folder, 'other') }
  t.match(await findCluster({ kubeconfig: join(folder, 'one'), environment }), {
    server: 'https://one',
  })
  t.match(await findCluster({ environment }), { server: 'https://other' })
  const several = { KUBECONFIG: [join(folder, 'one'), join(folder, 'more')].join(delimiter) }
  t.match(
    await findCluster({ environment: several }),
    { server: 'https://one' },
    'the first file names the context',
  )
})

t.test('the first of several files that sets a value has priority, as for kubectl', async (t) => {
  const other = kubeconfigOf('https://other').replaceAll(/\bx\b/g, 'y')
  const folder = t.testdir({ none: 'kind: Config\n', one: kubeconfigOf('https://one'), other })
  const findIn = (...names: readonly string[]) => {
    const paths = names.map((name) => join(folder, name))
    return findCluster({ environment: { KUBECONFIG: paths.join(delimiter) } })
  }
  t.match(
    await findIn('one', 'other'),
    { server: 'https://one' },
    'the second file has a cluster of the same name',
  )
  t.match(await findIn('none', 'other', 'one'), { server: 'https://other' })
})

t.test('the kubeconfig in the home folder is read only with mayReadHome', async (t) => {
  const home = t.testdir({
    '.kube': { config: kubeconfigOf('https://home') },
    other: kubeconfigOf('https://a'),
  })
  const environment = { HOME: home }
  const mayReadHome = true
  t.match(await findCluster({ mayReadHome, environment }), { server: 'https://home' })
  t.equal(await findCluster({ environment }), undefined)
  t.strictSame(
    [hasCluster({ mayReadHome, environment }), hasCluster({ environment })],
    [true, false],
  )
  t.equal(hasCluster({ mayReadHome, environment: {} }), false, 'there is no home folder')
  t.ok(hasCluster({ mayReadHome, environment: { USERPROFILE: home } }), 'as on Windows')
  t.match(
    await findCluster({
      mayReadHome,
      environment: { HOME: home, KUBECONFIG: join(home, 'other') },
    }),
    { server: 'https://a' },
    'KUBECONFIG has priority',
  )
})

t.test('the context option selects the cluster and its namespace', async (t) => {
  const context = { cluster: 'c', user: 'u' }
  const kubeconfig = join(
    t.testdir({
      config: JSON.stringify({
        clusters: [
          { name: 'c', cluster: { server: 'https://one' } },
          { name: 'd', cluster: { server: 'https://two' } },
        ],
        users: [{ name: 'u', user: { token: 't' } }],
        contexts: [
          { name: 'x', context },
          { name: 'y', context: { ...context, cluster: 'd', namespace: 'hpc' } },
        ],
        'current-context': 'x',
      }),
    }),
    'config',
  )
  const current = await findCluster({ kubeconfig, environment: {} })
  t.match(current, { server: 'https://one', source: kubeconfig })
  t.equal(current?.namespace, undefined)
  t.match(await findCluster({ kubeconfig, context: 'y', environment: {} }), {
    server: 'https://two',
    namespace: 'hpc',
  })
  await t.rejects(findCluster({ kubeconfig, context: 'z', environment: {} }), {
    message: `${kubeconfig} has no context z; its contexts are x, y`,
  })
})

/** Returns the cluster, and fails if there is none. */
async function found(...args: Parameters<typeof findCluster>): Promise<Cluster> {
  const cluster = await findCluster(...args)
  if (cluster === undefined) throw new Error('no cluster was found')
  return cluster
}

const askVersion = { path: '/api/v1/namespaces', signal: new AbortController().signal }

t.test('a kubeconfig gives the server, the CA and the token of a cluster', async (t) => {
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
  const api = connectApiserver(await found({ kubeconfig: join(folder, 'config'), environment: {} }))
  t.match(await api.ask(askVersion), { items: [] })
  t.strictSame(standIn.authorizations, ['Bearer a-token'])
})

t.test('a program in a pod uses the cluster of the pod, with the current token', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  const folder = t.testdir({ 'ca.crt': ca, token: 'one\n', namespace: 'own' })
  const environment = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: `${port}`,
  }
  const cluster = await found({ environment }, folder)
  t.match(cluster, { source: folder, namespace: 'own' })
  const api = connectApiserver(cluster)
  await api.ask(askVersion)
  writeFileSync(join(folder, 'token'), 'two')
  await api.ask(askVersion)
  t.strictSame(standIn.authorizations, ['Bearer one', 'Bearer two'])
  t.equal(
    await findCluster({ context: 'x', environment }, folder),
    undefined,
    'no context exists in a pod',
  )
})

t.test('the address of a cluster may be an IPv6 address', async (t) => {
  const environment = {
    KUBECONFIG: '',
    KUBERNETES_SERVICE_HOST: 'fd00::1',
    KUBERNETES_SERVICE_PORT: '443',
  }
  const cluster = await findCluster({ environment }, t.testdir({ token: '' }))
  t.match(cluster, { server: 'https://[fd00::1]:443', namespace: undefined })
})

t.test('the message begins with the path of an invalid kubeconfig', async (t) => {
  const folder = t.testdir({
    empty: '',
    list: '[]',
    bad: 'a: [',
    'no-context': 'apiVersion: v1\nkind: Config\n',
  })
  for (const [name, message] of [
    ['none', /none: cannot be read as a kubeconfig: no such file or directory \(ENOENT\)/],
    ['empty', /(empty: cannot be read as a kubeconfig|empty: the current context)/],
    ['list', /(list: cannot be read as a kubeconfig|list: the current context)/],
    ['bad', /bad: cannot be read as a kubeconfig: /],
    ['no-context', /no-context: the current context names no cluster/],
  ] as const) {
    const path = join(folder, name)
    const error: Error = await findCluster({ kubeconfig: path, environment: {} }).then(
      () => new Error('the kubeconfig was accepted'),
      (error) => error,
    )
    t.match(error.message, message)
    t.ok(error.message.startsWith(path), `the message begins with ${path}: ${error.message}`)
    t.notMatch(error.message, '\n')
  }
  writeFileSync(join(folder, 'good'), kubeconfigOf('https://good'))
  t.ok(await findCluster({ kubeconfig: join(folder, 'good'), environment: {} }))
})
