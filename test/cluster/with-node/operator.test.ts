import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../free-ports.ts'
import type { Cluster } from '../machine/cluster.ts'
import { isRunning, start, stop } from '../machine/daemon.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { moduleFolder, tools } from '../machine/tools.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Kubeflow's training operator creates the pods of a PyTorchJob. The pods are observed, the
// operator does not undo the injection, and the job succeeds.

const NAME = 'pytorch'
const OPERATOR = 'github.com/kubeflow/training-operator'
const SECRET = 'training-operator-webhook-cert'
const VALIDATOR = 'validator.training-operator.kubeflow.org'

/** The objects that the operator needs, as in the manifests of the operator. */
const GROUND = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kubeflow' } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET, namespace: 'kubeflow' } },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: VALIDATOR },
    webhooks: [
      {
        name: VALIDATOR,
        clientConfig: { url: 'https://127.0.0.1:1/' },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
      },
    ],
  },
]

const list = (items: readonly object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

/** The folder of the operator's certificate (controller-runtime pkg/webhook/server.go). */
const CERTIFICATES = join(tmpdir(), 'k8s-webhook-server', 'serving-certs')

async function startOperator(t: Test, cluster: Cluster): Promise<void> {
  const program = join(await tools('training-operator', () => {}), 'training-operator.v1')
  const source = await moduleFolder('training-operator', OPERATOR)
  const definitions = ['-k', join(source, 'manifests/base/crds')]
  await kubectl(cluster, ['apply', '--server-side', ...definitions])
  // The definition of MPIJobs differs from that of the MPI Operator, which other tests install.
  t.teardown(() => kubectl(cluster, ['delete', '--ignore-not-found', ...definitions]))
  await kubectl(cluster, ['apply', '-f', '-'], list(GROUND))
  const folder = join(cluster.folder, 'training-operator')
  await mkdir(folder, { recursive: true })
  const template = join(folder, 'init-container.yaml')
  await writeFile(template, '')
  const port = await freePort()
  const run = () =>
    start(
      folder,
      'env',
      [
        'MY_POD_NAMESPACE=kubeflow',
        program,
        ...['-kubeconfig', cluster.kubeconfig, '--enable-scheme=pytorchjob'],
        ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0'],
        ...['--webhook-server-port', `${port}`, '-pytorch-init-container-template-file', template],
      ],
      'training-operator',
    )
  // At its first start, the operator writes its certificate to a Secret, which a kubelet would
  // mount. This test writes the Secret to files, which the operator finds at its second start.
  const first = run()
  await until('the operator has written its certificate', () => fetchCertificate(cluster))
  await stop(first)
  const operator = run()
  t.teardown(async () => {
    await stop(operator)
    await rm(CERTIFICATES, { recursive: true, force: true })
    await kubectl(cluster, ['delete', '--wait=false', '-f', '-'], list(GROUND))
  })
  t.ok(isRunning(operator), 'the operator runs')
}

async function fetchCertificate(cluster: Cluster): Promise<boolean> {
  const words = ['get', 'secret', SECRET, '-n', 'kubeflow', '-o', 'json']
  const { data = {} } = JSON.parse(await kubectl(cluster, words))
  const names = ['tls.crt', 'tls.key', 'ca.crt']
  if (!names.every((name) => data[name])) return false
  await mkdir(CERTIFICATES, { recursive: true })
  for (const name of names) {
    await writeFile(join(CERTIFICATES, name), Buffer.from(data[name], 'base64'))
  }
  return true
}

function replicas(count: number) {
  const work = 'end=$(($(date +%s) + 6)); while [ $(date +%s) -lt $end ]; do :; done'
  const container = { name: 'pytorch', image: DEBIAN_IMAGE, command: ['sh', '-c', work] }
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '1',
  }
  const template = { metadata: { annotations }, spec: { containers: [container] } }
  return { replicas: count, restartPolicy: 'Never', template }
}

const JOB = {
  apiVersion: 'kubeflow.org/v1',
  kind: 'PyTorchJob',
  metadata: { name: NAME },
  spec: { pytorchReplicaSpecs: { Master: replicas(1) } },
}

t.test("the pods of Kubeflow's training operator are observed, and its job succeeds", async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'training')
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  await startOperator(t, cluster)
  // The apiserver serves a new kind shortly after its definition is established.
  await until('the job is created', () =>
    kubectl(cluster, ['apply', '-n', 'training', '-f', '-'], JSON.stringify(JOB)).then(
      () => true,
      () => false,
    ),
  )
  const done = ['wait', '--for=condition=Succeeded', `pytorchjob/${NAME}`, '-n', 'training']
  await kubectl(cluster, [...done, '--timeout=300s'])
  const { items } = JSON.parse(
    await kubectl(cluster, ['get', 'pods', '-n', 'training', '-o', 'json']),
  )
  t.equal(items.length, 1, 'the operator created one pod')
  for (const { metadata, spec, status } of items) {
    t.equal(metadata.ownerReferences[0].kind, 'PyTorchJob')
    t.match(spec.initContainers.at(-1), { name: 'perf-sysstat', restartPolicy: 'Always' })
    t.equal(status.phase, 'Succeeded')
    const words = ['logs', '-n', 'training', metadata.name, '-c', 'perf-sysstat']
    t.match(await kubectl(cluster, words), /METRICS OPERATOR TIMEPOINT/)
  }
})
