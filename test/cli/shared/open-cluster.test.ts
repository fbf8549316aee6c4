import { join } from 'node:path'
import t from 'tap'
import { UsageError } from '../../../cli/shared/errors.ts'
import { openCluster } from '../../../cli/shared/open-cluster.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { run } from '../command.ts'

const CONFIG = kubeconfigOf('https://127.0.0.1:1')

t.test('an unusable kubeconfig is reported in one sentence that names the file', async (t) => {
  const folder = t.testdir({ broken: 'a: [', empty: '', other: 'apiVersion: v1\nkind: Config\n' })
  for (const [name, reason] of [
    ['missing', /missing: cannot be read as a kubeconfig: no such file or directory \(ENOENT\)/],
    ['broken', /broken: cannot be read as a kubeconfig: ./],
    ['empty', /empty: cannot be read as a kubeconfig: ./],
    ['other', /other: the current context names no cluster$/],
  ] as const) {
    const path = join(folder, name)
    const error: Error = await openCluster({ kubeconfig: path }, {}).then(
      () => new Error('the kubeconfig was accepted'),
      (error) => error,
    )
    t.ok(error instanceof UsageError)
    t.match(error.message, reason)
    t.match(error.message, path)
    t.notMatch(error.message, '\n')
  }
})

t.test(
  'the namespace comes from the current context, and is `default` if the context has none',
  async (t) => {
    const placed = CONFIG.replace('user: u}', 'user: u, namespace: hpc}')
    const folder = t.testdir({ placed, unplaced: CONFIG })
    t.equal((await openCluster({ kubeconfig: join(folder, 'placed') }, {})).namespace, 'hpc')
    t.equal((await openCluster({ kubeconfig: join(folder, 'unplaced') }, {})).namespace, 'default')
  },
)

t.test('without --kubeconfig and KUBECONFIG, ~/.kube/config is read', async (t) => {
  const environment = { HOME: t.testdir({ '.kube': { config: CONFIG } }) }
  t.match(await run(['explain', 'pod/a'], '', { environment }), {
    code: 2,
    out: '',
    err: /^ridealong: the cluster does not answer: .*127\.0\.0\.1:1/,
  })
})

t.test(
  'doctor without a kubeconfig and disarm without a namespace fail with one sentence',
  async (t) => {
    const { code, out, err } = await run(['doctor'], '', { environment: {} })
    t.equal(code, 2)
    t.equal(out, '')
    t.equal(
      err,
      'ridealong: no cluster is configured: set --kubeconfig or KUBECONFIG, ' +
        'or create ~/.kube/config\n',
    )
    const unplaced = await run(['disarm', '--certificate', 'a'])
    t.equal(unplaced.code, 2)
    t.equal(
      unplaced.err,
      'ridealong: --certificate and --secret need --namespace, the namespace of the certificates\n',
    )
  },
)

const POD = `apiVersion: v1
kind: Pod
metadata: {name: lammps-0, annotations: {ridealong.dev/inject: vitals}}
spec: {containers: [{name: app, image: lammps}]}
`

t.test('every verb that connects to a cluster has the option --context', async (t) => {
  const folder = t.testdir({ config: CONFIG, 'pod.yaml': POD })
  const [config, pod] = ['config', 'pod.yaml'].map((name) => join(folder, name)) as [string, string]
  const keyPair = ['--cert', 'tls.crt', '--key', 'tls.key']
  const verbs = [
    ['annotate', '-f', pod],
    ['archive', '--log-level', 'silent'],
    ['attach', 'lammps-0', '--metric', 'vitals'],
    ['collect', 'job/lammps'],
    ['disarm'],
    ['doctor'],
    ['explain', 'pod/lammps-0'],
    ['explain', '-f', pod],
    ['inject', '-f', pod],
    ['metrics'],
    ['record', folder, '--url', 'https://127.0.0.1:8443'],
    ['runs'],
    ['serve', ...keyPair, '--log-level', 'silent'],
    ['stacks', 'job/lammps'],
    ['top', 'job/lammps', '--once'],
  ]
  for (const words of verbs) {
    const { code, err } = await run([...words, '--kubeconfig', config, '--context', 'other'])
    t.equal(code, 2, words.join(' '))
    t.match(err, `${config} has no context other; its contexts are x\n`, words.join(' '))
  }
})
