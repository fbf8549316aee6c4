import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import type { Api } from '../../api.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, forgetOnNode, IMAGES, nameOnNode } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { CHART, helm, OWN_IMAGES } from '../../release/helm.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'

// `attach` without options for images, in a cluster whose two releases have their observer from
// registries that nobody can reach. The node has both images, but not the built-in image.

/** A host name that never resolves (RFC 6761). */
const REGISTRY = 'registry.invalid'
const DEFAULT = 'attach-installed'
const NEXT = `${DEFAULT}-next`
const REVISION = 'next'

/** A release, its image of the observer, and the namespace of a pod with its labels. */
const RELEASES = [
  { name: DEFAULT, repository: 'hpc/observer', place: 'attached-default', labels: {} },
  {
    name: NEXT,
    repository: 'next/observer',
    place: 'attached-next',
    labels: { 'ridealong.dev/revision': REVISION },
  },
] as const

const imageOf = (repository: string) => `${REGISTRY}/${repository}:test`

async function install(t: Test, cluster: Cluster, api: Api, row: (typeof RELEASES)[number]) {
  const { name, repository } = row
  await nameOnNode(cluster, IMAGES.observer, imageOf(repository))
  t.teardown(() => forgetOnNode(cluster, imageOf(repository)))
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, name, { labels })
  const release = { cluster, name }
  t.teardown(() => helm(release, 'uninstall').catch(() => {}))
  const revision = name === NEXT ? ['--set', `revision=${REVISION}`] : []
  const image = `observer.image.registry=${REGISTRY},observer.image.repository=${repository}`
  await helm(release, 'install', [
    ...[CHART, ...OWN_IMAGES, '--set', 'certificates.mode=self', '--set', image],
    ...revision,
  ])
}

async function runPod(cluster: Cluster, namespace: string) {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'app' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['sleep', 'infinity'] }],
    },
  }
  const where = ['-n', namespace]
  await kubectl(cluster, ['apply', ...where, '-f', '-'], JSON.stringify(pod))
  await kubectl(cluster, [
    ...['wait', '--for=condition=Ready', 'pod/app', '--timeout=300s', ...where],
  ])
}

t.test('attach uses the image of the release that serves the namespace', async (t) => {
  const { cluster, api } = await runningCluster(t)
  for (const row of RELEASES) await install(t, cluster, api, row)
  for (const { place, labels, repository } of RELEASES) {
    await createNamespace(t, api, place, { labels })
    await runPod(cluster, place)
    const where = ['-n', place, '--kubeconfig', cluster.kubeconfig]
    await until(`metrics shows the image of ${place}`, async () => {
      const { out } = await run(['metrics', 'perf-sysstat', ...where])
      return out.includes(`image        ${imageOf(repository)}\n`)
    })
    const { code, err } = await run([
      ...['attach', 'app', ...where, '--metric', 'perf-sysstat'],
      ...['--option', 'rate=1', '--option', 'completions=1'],
    ])
    t.equal(code, 0, err)
    t.match(err, `${imageOf(repository)}: metrics and images are those of the installation that`)
    const { body } = await api.get(`/api/v1/namespaces/${place}/pods/app`)
    t.equal(body.spec.ephemeralContainers[0].image, imageOf(repository))
    const log = await kubectl(cluster, ['logs', '-f', '-n', place, 'app', '-c', 'perf-sysstat'])
    t.match(log, /METRICS OPERATOR COLLECTION END/, 'the observer has run')
  }
  const { body } = await api.get('/api/v1/namespaces/attached-default/pods')
  t.equal(body.items.length, 1, 'the dry runs created no pod')
})
