import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Api } from '../api.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// The level `restricted` allows root in a pod with `hostUsers: false` since the rules of Kubernetes
// 1.35. A namespace can select older rules, and an older apiserver has only older rules. The test
// compares Ridealong's answers with the answers of the apiserver for the same observer.

const ENFORCE = 'pod-security.kubernetes.io/enforce'
const VERSION = 'pod-security.kubernetes.io/enforce-version'

/** The label with the version of the rules, by the name of the namespace. */
const VERSIONS: Readonly<Record<string, string | undefined>> = {
  unset: undefined,
  latest: 'latest',
  'v1-30': 'v1.30',
  'v1-34': 'v1.34',
  'v1-35': 'v1.35',
  'v1-99': 'v1.99',
}

/** The security context of an observer that complies with `restricted`, except that it is root. */
const ROOT = {
  runAsUser: 0,
  runAsNonRoot: false,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
const METRIC = {
  apiVersion: 'ridealong.dev/v1alpha1',
  kind: 'Metric',
  metadata: { name: 'root-stat' },
  spec: {
    description: 'an observer that runs as root',
    privilege: 'baseline',
    container: {
      image: 'observer',
      command: ['observe'],
      securityContext: ROOT,
      resources: { limits: { cpu: '10m', memory: '16Mi' } },
    },
  },
}

/** A pod that the level restricted accepts in all versions. */
function podOf(hostUsers: boolean | undefined, annotations: object, more: readonly object[] = []) {
  const securityContext = { ...ROOT, runAsUser: 1000, runAsNonRoot: true }
  const spec = {
    hostUsers,
    containers: [{ name: 'app', image: 'app', securityContext }, ...more],
  }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'app-', annotations }, spec }
}

const ASKING = { 'ridealong.dev/inject': 'root-stat' }
const OBSERVER = { name: 'root-stat', image: 'observer', securityContext: ROOT }

async function writeCatalog(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-catalog-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'root-stat.yaml'), JSON.stringify(METRIC))
  return folder
}

/** Creates a pod in a dry run. */
async function tryIn(api: Api, namespace: string, pod: object) {
  const { status, body } = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod)
  const written = body.metadata?.annotations?.['ridealong.dev/status']
  const { outcome, reason } = written === undefined ? {} : JSON.parse(written)
  return { isAccepted: status === 201, outcome: reason ?? outcome, message: body.message }
}

/** Creates the namespaces, each with its version of the rules. */
async function prepare(t: Test, api: Api): Promise<void> {
  for (const [name, version] of Object.entries(VERSIONS)) {
    const labels = { [ENFORCE]: 'restricted', 'ridealong.dev/privilege': 'baseline' }
    const pinned = version === undefined ? labels : { ...labels, [VERSION]: version }
    await createNamespace(t, api, `security-${name}`, { labels: pinned })
  }
}

const CALLS = Object.keys(VERSIONS).flatMap((name) =>
  [undefined, true, false].map((hostUsers) => ({ name, hostUsers })),
)

t.test('root gets no observers exactly where the apiserver would refuse it', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await prepare(t, api)
  const webhook = await startWebhook(cluster, { words: ['--catalog', await writeCatalog(t)] })
  t.teardown(() => webhook.remove())
  const isNew = cluster.version >= 'v1.35'
  await until('the webhook knows the version of the apiserver', async () => {
    const { outcome } = await tryIn(api, 'security-latest', podOf(false, ASKING))
    return outcome === (isNew ? 'injected' : 'pod-security')
  })
  const allowed = new Set<string>()
  for (const { name, hostUsers } of CALLS) {
    const what = `${name}, hostUsers: ${hostUsers}`
    const plain = await tryIn(api, `security-${name}`, podOf(hostUsers, {}, [OBSERVER]))
    const asking = await tryIn(api, `security-${name}`, podOf(hostUsers, ASKING))
    t.ok(asking.isAccepted, `${what}: the pod is accepted ${asking.message ?? ''}`)
    t.equal(asking.outcome, plain.isAccepted ? 'injected' : 'pod-security', what)
    if (plain.isAccepted) allowed.add(what)
  }
  const relaxed = ['latest', 'unset', 'v1-35', 'v1-99'].map((name) => `${name}, hostUsers: false`)
  t.strictSame([...allowed].sort(), isNew ? relaxed : [], 'where the apiserver allows root')
})
