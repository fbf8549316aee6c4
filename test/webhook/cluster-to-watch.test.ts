import { join } from 'node:path'
import t from 'tap'
import { clusterToWatch } from '../../webhook/cluster-to-watch.ts'
import { kubeconfigOf } from '../stand-ins/kubeconfig.ts'

t.test('without a configured cluster, the error names the options that select one', async (t) => {
  const HOME = t.testdir({ '.kube': { config: kubeconfigOf('https://home') } })
  await t.rejects(clusterToWatch({}, { HOME }), {
    message: /^no cluster is configured: set --kubeconfig or KUBECONFIG, .* --namespaces FILE/,
  })
})

t.test('a cluster without TLS is refused', async (t) => {
  const folder = t.testdir({
    plain: kubeconfigOf('http://localhost:8001'),
    good: kubeconfigOf('https://good'),
  })
  const plain = join(folder, 'plain')
  await t.rejects(clusterToWatch({ kubeconfig: plain }, {}), {
    message: `${plain}: the server http://localhost:8001 must begin with https://`,
  })
  t.match(await clusterToWatch({ kubeconfig: join(folder, 'good') }, {}), {
    server: 'https://good',
  })
})
