import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { makeAuthority } from '../../../certs/make.ts'
import { run } from '../../cli/command.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run as runProgram, tools } from '../machine/tools.ts'
import { startCertManager } from '../release/cert-manager.ts'
import { checkDoctorRights, kubeconfigOf } from '../release/doctor-rights.ts'
import {
  CHART,
  configurationName,
  type Helm,
  helm,
  metricsOf,
  NO_WAIT,
  OWN_IMAGES,
  OWN_OBSERVER,
  type Release,
  replicasOf,
} from '../release/helm.ts'
import { miniCluster } from '../release/mini-cluster.ts'
import { replaceAuthority } from '../release/replace-authority.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS } from '../webhook.ts'

// Installs the chart with one command, in a namespace that enforces Pod Security restricted, with
// the real cert-manager. Then checks that annotated pods are observed, and that one command removes
// the chart.

const NAME = 'ridealong-install'
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '1' }
const BUSY = 'end=$(($(date +%s) + 6)); while [ $(date +%s) -lt $end ]; do :; done'

const pod = (annotations: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { generateName: 'install-', annotations },
  spec: { containers: [{ name: 'app', image: 'app' }] },
})

interface Status {
  readonly outcome?: string
  readonly reason?: string
  readonly message?: string
}

/** Creates a pod in a dry run, and returns its status annotation. */
async function statusOf(api: Api, namespace: string, annotations: object): Promise<Status> {
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
  const { body } = await api.post(path, pod(annotations))
  return JSON.parse(body.metadata?.annotations?.['ridealong.dev/status'] ?? '{}')
}

/** The steps of the test, which depend on each other, in their order. */
const STEPS: Readonly<Record<string, (t: Test, setting: Setting) => Promise<void>>> = {
  'both replicas are ready': replicasAreReady,
  'helm test passes': testPasses,
  'helm test has exactly the rights that its checks need, and creates nothing': testHasRights,
  'the commands of the threat model replace a CA whose key has leaked': replacesLeakedAuthority,
  'the doctor finds no problem after the installation, and reports a wrong CA': isExamined,
  'the pods of a MiniCluster are observed in an annotated namespace': observesMiniCluster,
  'explain predicts the injection from the catalog and the nodes of the cluster': explainPredicts,
  'a pod created right after its namespace was annotated is injected': injectsAtOnce,
  'a metric that an upgrade adds is available without a restart': servesNewMetric,
  'pods are created without observers while the image of the observers cannot be pulled':
    toleratesMissingImage,
  'an upgrade turns the archive on, which keeps the run of a deleted Job': keepsRun,
  'helm uninstall removes everything except the namespace and the definition of Runs':
    uninstallRemovesAll,
  'server-side apply installs the chart, and a second apply has no conflict': appliesWithoutHelm,
  'Helm 3 installs the chart, Helm 4 upgrades it, and Helm 3 removes it': mixesHelmVersions,
}

t.test('one command installs, upgrades or removes the chart', async (t) => {
  const setting = await installChart(t)
  for (const [title, step] of Object.entries(STEPS)) {
    await t.test(title, (t) => step(t, setting))
  }
})

async function installChart(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await startCertManager(t, cluster)
  await createNamespace(t, api, NAME, { labels: RESTRICTED })
  const release = { cluster, name: NAME }
  await createNamespace(t, api, 'install-annotated')
  await createNamespace(t, api, 'install-quiet')
  // Helm keeps the definition, with the labels of the release of an earlier test.
  await kubectl(cluster, ['delete', DEFINITION, '--ignore-not-found'])
  await helm(release, 'install', [CHART, ...OWN_IMAGES])
  return { release, api, cluster }
}

type Setting = Awaited<ReturnType<typeof installChart>>

async function replicasAreReady(t: Test, { release }: Setting): Promise<void> {
  t.match(await replicasOf(release), [{ isReady: true }, { isReady: true }])
}

async function testPasses(t: Test, { release }: Setting): Promise<void> {
  // cert-manager writes the CA into the configuration some time after the installation.
  await until('helm test passes', () => passes(release))
  const said = await helm(release, 'test', ['--logs'])
  t.match(said, /Phase: +Succeeded/)
  t.match(said, /^ok +dry run: pod/m)
  t.notMatch(said, /^unknown /m)
}

function testHasRights(t: Test, { release }: Setting): Promise<void> {
  return checkDoctorRights(t, release)
}

async function replacesLeakedAuthority(t: Test, { api, release }: Setting): Promise<void> {
  const bundle = async () => {
    const { webhooks } = (await api.get(`${CONFIGURATIONS}/${configurationName(NAME)}`)).body
    const texts = webhooks.map(({ clientConfig }: Webhook) => clientConfig.caBundle ?? '')
    return Buffer.from(texts[0], 'base64').toString()
  }
  const before = await bundle()
  await replaceAuthority(release)
  await until('cert-manager writes the new CA', async () => !['', before].includes(await bundle()))
  const after = await bundle()
  t.not(after, before)
  t.equal(after.match(/BEGIN CERTIFICATE/g)?.length, 1, 'the old CA is no longer trusted')
  await until('helm test passes', () => passes(release))
}

async function observesMiniCluster(t: Test, { api, cluster }: Setting): Promise<void> {
  await annotate(api, 'install-annotated')
  await isObserved(t, cluster, 'install-annotated')
}

async function explainPredicts(t: Test, { cluster }: Setting): Promise<void> {
  const { outcome, findings } = await foretell(t, cluster)
  t.equal(outcome, 'injected')
  t.match(
    findings.find(({ name }) => name === 'image'),
    { verdict: 'ok' },
  )
}

async function injectsAtOnce(t: Test, { api }: Setting): Promise<void> {
  for (let i = 0; i < 10; i += 1) {
    const namespace = `install-${i}`
    await createNamespace(t, api, namespace)
    await annotate(api, namespace)
    t.match(await statusOf(api, namespace, {}), { outcome: 'injected' })
  }
}

async function toleratesMissingImage(t: Test, { release, api, cluster }: Setting): Promise<void> {
  const words = [CHART, '--reuse-values', '--set']
  const before = await revisionsOf(release)
  await helm(release, 'upgrade', [...words, 'observer.image.tag=absent', NO_WAIT])
  const asked = () => statusOf(api, 'install-annotated', {})
  await servesOther(release, before)
  t.match(await asked(), {
    outcome: 'left',
    reason: 'observer-unavailable',
    message: /:absent/,
  })
  t.match(await foretell(t, cluster), { outcome: 'left', reason: 'observer-unavailable' })
  await t.rejects(helm(release, 'test'), 'helm test fails')
  await helm(release, 'upgrade', [...words, OWN_OBSERVER])
  await until('observers are injected again', async () => (await asked()).outcome === 'injected')
  // Each replica watches the change separately, and `helm test` may call any replica, so the
  // first runs may fail. Each run deletes the pods of the previous run.
  await until('helm test passes again', () => passes(release))
}

async function keepsRun(t: Test, { release, cluster }: Setting): Promise<void> {
  const namespace = 'install-annotated'
  await helm(release, 'upgrade', [CHART, '--reuse-values', '--set', 'archive.enabled=true'])
  const resources = { requests: { cpu: '100m', memory: '32Mi' } }
  const command = ['/bin/bash', '-c', `${BUSY}; sleep 2`]
  const container = { name: 'app', image: DEBIAN_IMAGE, command, resources }
  const pod = { spec: { restartPolicy: 'Never', containers: [container] } }
  const job = {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'brief' } },
    spec: { ttlSecondsAfterFinished: 0, template: pod },
  }
  await kubectl(cluster, ['create', '-n', namespace, '-f', '-'], JSON.stringify(job))
  await until('the Job is deleted', async () => {
    const gone = ['get', 'job/brief', '-n', namespace, '-o', 'name', '--ignore-not-found']
    return (await kubectl(cluster, gone)) === ''
  })
  const written = async () => {
    const said = await kubectl(cluster, ['get', 'runs', '-n', namespace, '-o', 'json'])
    // biome-ignore lint/suspicious/noExplicitAny: a Run as the apiserver serves it.
    return JSON.parse(said).items.find((one: any) => one.spec.workload.name === 'brief')
  }
  await until('the Run has ended', async () => (await written())?.status?.phase === 'Succeeded')
  const { pods, card } = (await written()).status
  t.match(pods, { observed: 1, expected: 1 })
  t.ok(card.cores.used > 0, 'the summary of the observer was read')
}

async function uninstallRemovesAll(t: Test, { release }: Setting): Promise<void> {
  await helm(release, 'uninstall')
  await isGone(t, release, [DEFINITION])
}

async function appliesWithoutHelm(t: Test, { release, cluster, api }: Setting): Promise<void> {
  const objects = await rendered(release)
  const apply = ['apply', '--server-side', '-f', '-']
  await kubectl(cluster, apply, objects)
  await kubectl(cluster, ['rollout', 'status', `deployment/${NAME}`, '-n', NAME])
  // Before the second apply, waits until others have written to these objects: cert-manager,
  // controllers, and the webhook, which writes to its Lease.
  await until('pods are observed', async () => {
    return (await statusOf(api, 'install-annotated', {})).outcome === 'injected'
  })
  await until('a replica holds the Lease', async () => {
    const where = `/apis/coordination.k8s.io/v1/namespaces/${NAME}/leases/${NAME}-scan`
    return ((await api.get(where)).body.spec.holderIdentity ?? '') !== ''
  })
  const again = (await kubectl(cluster, apply, objects)).trim().split('\n')
  t.ok(again.length > 10)
  for (const line of again) t.match(line, / serverside-applied$/)
  t.equal(
    (await statusOf(api, 'install-annotated', {})).outcome,
    'injected',
    'pods are still injected',
  )
  await kubectl(cluster, ['delete', '-f', '-'], objects)
  const secrets = [`${NAME}-tls`, `${NAME}-ca`]
  await kubectl(cluster, ['delete', 'secrets', '-n', NAME, ...secrets])
  await kubectl(cluster, ['label', 'namespaces', '--all', 'ridealong.dev/armed-'])
  await isGone(t, release)
}

async function mixesHelmVersions(t: Test, { release }: Setting): Promise<void> {
  await helm(release, 'install', [CHART, ...OWN_IMAGES], 'helm-3')
  await until('helm test passes', () => passes(release, 'helm-3'))
  const words = ['--reuse-values', '--set', 'webhook.timeoutSeconds=2']
  await helm(release, 'upgrade', [CHART, ...words])
  await until('helm test passes', () => passes(release))
  await helm(release, 'uninstall', [], 'helm-3')
  await isGone(t, release, [DEFINITION])
}

interface Webhook {
  readonly clientConfig: { readonly caBundle?: string }
}

/** Runs `helm test`, and reports whether it passes. */
function passes(release: Release, program: Helm = 'helm-4'): Promise<boolean> {
  return helm(release, 'test', [], program).then(
    (said) => /Phase: +Succeeded/.test(said),
    () => false,
  )
}

interface Check {
  readonly name: string
  readonly verdict: string
  readonly sentence: string
}

/** Returns the JSON output of `ridealong doctor`. */
async function examine(kubeconfig: string) {
  const { code, out, err } = await run(['doctor', '--kubeconfig', kubeconfig, '-o', 'json'])
  const { outcome, checks } = JSON.parse(out || '{}')
  return { code, err, outcome, checks: (checks ?? []) as readonly Check[] }
}

/**
 * Returns the output of `explain` for a manifest, without options that describe the installation.
 */
async function foretell(t: Test, { kubeconfig }: Cluster) {
  const file = `${t.testdir({ 'pod.json': JSON.stringify(pod(ASKS)) })}/pod.json`
  const where = ['--kubeconfig', kubeconfig, '-n', 'install-annotated']
  const { out } = await run(['explain', '-f', file, ...where, '-o', 'json'])
  const [said] = JSON.parse(out)
  return said as { readonly outcome: string; readonly findings: readonly Check[] }
}

async function isExamined(t: Test, { api, release }: Setting): Promise<void> {
  await isSound(t, release)
  await wrongAuthorityIsReported(t, api, release)
  await allIsUnknown(t, release)
}

const verdictsOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map((check) => [check.name, check.verdict]))

async function isSound(t: Test, { cluster, name }: Release): Promise<void> {
  const well = await examine(cluster.kubeconfig)
  t.match(well, { code: 0, outcome: 'sound', err: '' })
  t.strictSame(verdictsOf(well.checks), {
    'webhook configuration': 'ok',
    CA: 'ok',
    certificate: 'ok',
    failurePolicy: 'ok',
    'order of webhooks': 'ok',
    'certificate mode': 'ok',
    Service: 'ok',
    Deployment: 'ok',
    catalog: 'ok',
    image: 'ok',
    guard: 'ok',
    revisions: 'ok',
    namespaces: 'ok',
    'dry run: namespace': 'ok',
    'dry run: pod': 'ok',
  })
  t.match(well.checks[0], {
    sentence: new RegExp(
      `^${configurationName(name)} calls Service ${name}/${name} .release ${name}, version 0.1.0.$`,
    ),
  })
}

/** Replaces the CA of the webhook configuration, and restores it. */
async function wrongAuthorityIsReported(
  t: Test,
  api: Api,
  { cluster, name }: Release,
): Promise<void> {
  const path = `${CONFIGURATIONS}/${configurationName(name)}`
  const before = (await api.get(path)).body
  const { ca } = await makeAuthority()
  await api.merge(path, withoutInjector(before, Buffer.from(ca).toString('base64')))
  const asked = async () => verdictsOf((await examine(cluster.kubeconfig)).checks)
  await until('the apiserver uses the other CA', async () => {
    return (await asked())['dry run: pod'] === 'no'
  })
  const { code, outcome, checks } = await examine(cluster.kubeconfig)
  t.match({ code, outcome }, { code: 1, outcome: 'faulty' })
  t.match(
    checks.filter(({ verdict }) => verdict === 'no'),
    [
      { name: 'certificate', sentence: /^caBundle does not verify .*, issued by CN=/ },
      { name: 'dry run: namespace', sentence: /^in a dry run, the webhook did not/ },
      { name: 'dry run: pod', sentence: /^in a dry run, the webhook did not/ },
    ],
  )
  const { webhooks, metadata } = before
  await api.merge(path, { metadata: { annotations: metadata.annotations }, webhooks })
  await until(
    'the doctor finds no problem',
    async () => (await examine(cluster.kubeconfig)).code === 0,
  )
}

/** Verifies that every check has the verdict unknown for a user without rights. */
async function allIsUnknown(t: Test, { cluster }: Release): Promise<void> {
  const powerless = await kubeconfigOf(cluster, 'install-quiet', 'default')
  const nobody = await examine(`${t.testdir({ kubeconfig: powerless })}/kubeconfig`)
  t.match(nobody, { code: 2, outcome: 'unknown' })
  t.match(nobody.checks[0], {
    name: 'webhook configuration',
    verdict: 'unknown',
    sentence: /cannot list resource/,
  })
  t.ok(nobody.checks.every(({ verdict }) => verdict === 'unknown'))
}

/**
 * Returns the configuration with another CA, and without the annotation that makes cert-manager
 * replace the CA.
 */
// biome-ignore lint/suspicious/noExplicitAny: a MutatingWebhookConfiguration of the apiserver.
function withoutInjector({ webhooks }: any, caBundle: string): object {
  return {
    metadata: { annotations: { 'cert-manager.io/inject-ca-from': null } },
    webhooks: webhooks.map((webhook: { clientConfig: object }) => {
      return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }
    }),
  }
}

/** Returns the objects of the chart without its hooks, for an installation without Helm. */
async function rendered({ name }: Release): Promise<string> {
  const program = join(await tools('helm-4', () => {}), 'helm')
  return runProgram(program, ['template', name, CHART, '-n', name, '--no-hooks', ...OWN_IMAGES])
}

async function annotate(api: Api, namespace: string): Promise<void> {
  const metadata = { annotations: ASKS }
  const { body } = await api.merge(`/api/v1/namespaces/${namespace}`, { metadata })
  if (body.metadata.labels['ridealong.dev/armed'] !== 'true') {
    throw new Error(`namespace ${namespace} is annotated but not armed`)
  }
}

/** Checks that both pods of a MiniCluster are observed, and that the MiniCluster completes. */
async function isObserved(t: Test, cluster: Cluster, namespace: string): Promise<void> {
  const job = miniCluster('lammps', BUSY)
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(job))
  const complete = ['wait', '--for=condition=Complete', 'job/lammps', '-n', namespace]
  await kubectl(cluster, [...complete, '--timeout=300s'])
  const words = ['get', 'pods', '-n', namespace, '-l', 'job-name=lammps', '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  t.equal(items.length, 2)
  for (const { metadata, spec } of items) {
    t.equal(spec.shareProcessNamespace, true, 'the containers share one process namespace')
    const log = ['logs', '-n', namespace, metadata.name, '-c', 'perf-sysstat']
    const text = await kubectl(cluster, log)
    t.match(text, /METADATA START .*perf-sysstat/, 'the log begins with metadata')
    t.match(text, /METRICS OPERATOR TIMEPOINT/, 'the log contains samples')
  }
}

/** Returns a value for the chart, as JSON, that adds the metric perf-sysstat under another name. */
async function ownMetric(cluster: Cluster): Promise<string> {
  const words = ['get', 'configmap', `${NAME}-catalog`, '-n', NAME, '-o', 'json']
  const { data } = JSON.parse(await kubectl(cluster, words))
  const { spec } = parse(data['perf-sysstat.yaml'])
  const description = 'perf-sysstat under another name'
  const metrics = { 'own-sysstat': { ...spec, description } }
  return JSON.stringify(metrics)
}

/** Returns the revision of the catalog that each replica serves. */
async function revisionsOf(release: Release): Promise<readonly (string | undefined)[]> {
  const texts = await Promise.all((await replicasOf(release)).map(metricsOf))
  return texts.map((text) => /^ridealong_catalog_info\{revision="(\w+)"\} 1$/m.exec(text)?.[1])
}

/**
 * Waits until no replica serves one of these revisions. A kubelet updates mounted ConfigMaps about
 * once a minute.
 */
function servesOther(release: Release, old: readonly unknown[]): Promise<void> {
  return until('every replica serves another catalog', async () => {
    return (await revisionsOf(release)).every((revision) => !old.includes(revision))
  })
}

async function servesNewMetric(t: Test, { api, release }: Setting): Promise<void> {
  const asks = { 'ridealong.dev/inject': 'own-sysstat' }
  const asked = () => statusOf(api, 'install-quiet', asks)
  t.match(await asked(), { outcome: 'left', reason: 'unknown-metric' })
  const before = await replicasOf(release)
  const old = await revisionsOf(release)
  const metrics = await ownMetric(release.cluster)
  const words = ['--reuse-values', '--set-json', `catalog.metrics=${metrics}`]
  await helm(release, 'upgrade', [CHART, ...words])
  await servesOther(release, old)
  t.equal(new Set(await revisionsOf(release)).size, 1, 'all replicas serve the same catalog')
  t.match(await asked(), { outcome: 'injected', metrics: ['own-sysstat'] })
  const after = await replicasOf(release)
  t.same(identities(after), identities(before), 'no replica was replaced or restarted')
}

const identities = (replicas: Awaited<ReturnType<typeof replicasOf>>) =>
  replicas.map(({ name, restarts }) => `${name} ${restarts}`).sort()

/** The objects that every namespace contains. */
const OF_EVERY_NAMESPACE = ['configmap/kube-root-ca.crt', 'serviceaccount/default']
/** Events, which remain after their objects have been deleted. */
const PAST = /^events(\.|$)/

/** The definition of Runs, which Helm keeps, because it would delete all Runs. */
const DEFINITION = 'customresourcedefinition.apiextensions.k8s.io/runs.ridealong.dev'

async function isGone(
  t: Test,
  { cluster, name }: Release,
  kept: readonly string[] = [],
): Promise<void> {
  const stays = [...OF_EVERY_NAMESPACE, ...kept].sort()
  const list = async (words: readonly string[]) =>
    (await kubectl(cluster, words)).split('\n').filter((line) => line !== '')
  const kinds = (namespaced: boolean) =>
    list(['api-resources', '--verbs=list', `--namespaced=${namespaced}`, '-o', 'name'])
  const inside = (await kinds(true)).filter((kind) => !PAST.test(kind)).join(',')
  const around = (await kinds(false)).join(',')
  const left = async () => [
    ...(await list(['get', inside, '-n', name, '-o', 'name', '--ignore-not-found'])),
    ...(await list(['get', around, '-o', 'name', '-l', `app.kubernetes.io/instance=${name}`])),
    ...(await list(['get', 'namespaces', '-o', 'name', '-l', 'ridealong.dev/armed'])),
  ]
  // Pods and Secrets are deleted a moment after the objects that own them.
  await until(
    'all objects are deleted',
    async () => (await left()).length <= stays.length,
    90_000,
  ).catch(() => {})
  t.same((await left()).sort(), stays)
}
