import { join } from 'node:path'
import { ApiException } from '@kubernetes/client-node'
import t from 'tap'
import { UsageError } from '../../src/cli/errors.ts'
import { readKubeConfig, refusalOf } from '../../src/cli/kubeconfig.ts'
import { run } from './command.ts'

delete process.env.KUBECONFIG
const NOWHERE = t.testdir({})
process.env.HOME = NOWHERE

const CONFIG = `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: me, user: {token: t}}]
contexts: [{name: c, context: {cluster: here, user: me}}]
current-context: c
`

t.test('credentials that cannot be had are said in a sentence that names the file', (t) => {
  const folder = t.testdir({ broken: 'a: [', empty: '', other: 'apiVersion: v1\nkind: Config\n' })
  for (const [name, reason] of [
    ['missing', /: no kubeconfig: ENOENT/],
    ['broken', /: no kubeconfig: ./],
    ['empty', /: no kubeconfig: ./],
    ['other', /: its current context names no cluster$/],
  ] as const) {
    const path = join(folder, name)
    try {
      readKubeConfig(path)
      t.fail('it was taken')
    } catch (error) {
      t.ok(error instanceof UsageError)
      t.match(String(error), reason)
      t.match(String(error), path)
      t.notMatch(String(error), '\n')
    }
  }
  t.end()
})

t.test('the file that is named wins over that of the environment', (t) => {
  const folder = t.testdir({ a: CONFIG, b: CONFIG.replace(':1', ':2') })
  process.env.KUBECONFIG = join(folder, 'a')
  t.teardown(() => delete process.env.KUBECONFIG)
  t.equal(readKubeConfig(undefined).getCurrentCluster()?.server, 'https://127.0.0.1:1')
  t.equal(readKubeConfig(join(folder, 'b')).getCurrentCluster()?.server, 'https://127.0.0.1:2')
  t.end()
})

t.test('where nothing else is named it is the one that kubectl reads', async (t) => {
  process.env.HOME = t.testdir({ '.kube': { config: CONFIG } })
  t.teardown(() => Object.assign(process.env, { HOME: NOWHERE }))
  t.equal(readKubeConfig(undefined).getCurrentCluster()?.server, 'https://127.0.0.1:1')
  t.match(await run(['explain', 'pod/a']), {
    code: 2,
    out: '',
    err: /^ridealong: the cluster does not answer: .*127\.0\.0\.1:1/,
  })
})

t.test("a refusal is the apiserver's own sentence, or the number that it answered", (t) => {
  const refused = (body: unknown) => refusalOf(new ApiException(403, 'Unsuccessful', body, {}))
  t.equal(refused({ kind: 'Status', message: 'no' }), 'no')
  t.equal(refused('{"kind":"Status","message":"no"}'), 'no')
  t.equal(refused('<html>'), 'the apiserver answered 403')
  t.equal(refused(undefined), 'the apiserver answered 403')
  t.equal(refusalOf(new Error('connect ECONNREFUSED')), 'connect ECONNREFUSED')
  t.end()
})

t.test('without a cluster a verb ends with a sentence', async (t) => {
  const { code, out, err } = await run(['doctor'])
  t.equal(code, 2)
  t.equal(out, '')
  t.equal(
    err,
    'ridealong: no cluster: neither --kubeconfig nor KUBECONFIG names a file, and there is no ~/.kube/config\n',
  )
  const unplaced = await run(['disarm', '--certificate', 'a'])
  t.equal(unplaced.code, 2)
  t.equal(unplaced.err, 'ridealong: --certificate needs --namespace, where the certificates are\n')
})
