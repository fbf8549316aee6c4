import t, { type Test } from 'tap'
import { run } from '../../cli/command.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests of a policy that forbids a shared process namespace, which observers need: the pods of an
// annotated namespace are denied, and explain and doctor say so.

const NAME = 'sharing-policy'
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const MESSAGE = 'pods must not share their process namespace'
const POLICIES = 'admissionregistration.k8s.io/v1'

/** Adds a policy for the namespaces with the label `policy: NAME` until the test ends. */
async function addPolicy(
  t: Test,
  cluster: Cluster,
  name: string,
  expression: string,
  message: string,
): Promise<void> {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression, message }],
  }
  const binding = {
    policyName: name,
    validationActions: ['Deny'],
    matchResources: { namespaceSelector: { matchLabels: { policy: name } } },
  }
  const items = [
    { kind: 'ValidatingAdmissionPolicy', spec },
    { kind: 'ValidatingAdmissionPolicyBinding', spec: binding },
  ].map((one) => ({ ...one, apiVersion: POLICIES, metadata: { name } }))
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(cluster, ['apply', '-f', '-'], list)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], list))
}

const NO_SHARING = '!has(object.spec.shareProcessNamespace) || !object.spec.shareProcessNamespace'

function pod(annotations: object) {
  const metadata = { generateName: 'app-', annotations }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [CONTAINER] } }
}

const CONTAINER = { name: 'app', image: 'app' }

async function denies(api: Api, namespace: string, object: object): Promise<boolean> {
  const { status } = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, object)
  return status === 422
}

const template = { spec: { restartPolicy: 'Never', containers: [CONTAINER] } }
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'lammps' },
  spec: { template },
}
/** For users who may not read the annotations of the namespace. */
const ANNOTATED = { metadata: { annotations: ASKS } }
const miniCluster = {
  apiVersion: 'flux-framework.org/v1alpha2',
  kind: 'MiniCluster',
  metadata: { name: 'flux' },
  spec: { size: 2, containers: [{ command: 'lmp' }] },
}

interface Named {
  readonly name: string
  readonly verdict: string
  readonly sentence: string
}

t.test('explain and doctor name the policy that denies pods with observers', async (t) => {
  const setting = await forbidSharing(t)
  const { api } = setting

  for (const file of ['job.json', 'flux.json']) {
    await t.test(`explain -f ${file} says that the pods would be denied`, (t) =>
      predictsDenial(t, setting, file),
    )
  }

  await t.test('explain says the same about a Job whose pods were denied', (t) =>
    explainsDeniedJob(t, setting),
  )

  await t.test('a pod that is denied without observers too is not blamed on them', (t) =>
    blamesOtherPolicy(t, setting),
  )

  await t.test('without the right to create pods, explain says that it is unknown', (t) =>
    admitsMissingRight(t, setting),
  )

  await t.test('doctor names the policy too, and the namespace', (t) =>
    doctorNamesPolicy(t, setting),
  )

  const { body } = await api.get('/api/v1/namespaces/unshared/pods')
  t.strictSame(body.items, [], 'the dry runs created no pods')
})

async function forbidSharing(t: Test) {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { name: NAME })
  t.teardown(() => webhook.remove())
  const labels = { policy: NAME }
  await createNamespace(t, api, 'unshared', { annotations: ASKS, labels })
  await createNamespace(t, api, 'shared', { annotations: ASKS })
  await addPolicy(t, cluster, NAME, NO_SHARING, MESSAGE)
  await until('the policy takes effect', () => denies(api, 'unshared', pod({})))
  t.notOk(await denies(api, 'unshared', pod({ 'ridealong.dev/inject': 'false' })), 'the exception')
  const folder = t.testdir({
    'job.json': JSON.stringify(job),
    'flux.json': JSON.stringify(miniCluster),
  })
  const explain = async (namespace: string, file: string) => {
    const { out, code, err } = await run([
      ...['explain', '--kubeconfig', cluster.kubeconfig, '-n', namespace, '-o', 'json'],
      ...['--webhook-configuration', NAME, '-f', `${folder}/${file}`],
    ])
    t.not(code, 2, err)
    const [explanation] = JSON.parse(out)
    const dryRun = explanation.findings.find(({ name }: Named) => name === 'dry run')
    return { code, ...explanation, dryRun }
  }
  return { explain, cluster, api }
}

type Setting = Awaited<ReturnType<typeof forbidSharing>>

async function predictsDenial(t: Test, { explain }: Setting, file: string): Promise<void> {
  t.match(await explain('unshared', file), {
    code: 1,
    outcome: 'denied',
    reason: 'admission-policy',
    conclusion: new RegExp(`because of its observers: .*'${NAME}' .*${MESSAGE}\\.$`),
    remedy: /^ask the administrator of the policy .* ridealong\.dev\/inject: "false"/,
  })
  t.match(await explain('shared', file), { code: 0, dryRun: { verdict: 'ok' } })
}

async function explainsDeniedJob(t: Test, { cluster }: Setting): Promise<void> {
  await kubectl(cluster, ['create', '-n', 'unshared', '-f', '-'], JSON.stringify(job))
  const words = ['explain', 'job/lammps', '-n', 'unshared', '--webhook-configuration', NAME]
  const { code, out } = await run([...words, '--kubeconfig', cluster.kubeconfig])
  t.equal(code, 1)
  t.match(out, /^ {2}no {7}dry run +the apiserver denies the pod only with observers/m)
  t.match(out.replaceAll(/\s+/g, ' '), MESSAGE)
}

async function blamesOtherPolicy(t: Test, { api, cluster, explain }: Setting): Promise<void> {
  await createNamespace(t, api, 'digests', { annotations: ASKS, labels: { policy: 'digests' } })
  const withDigest = "object.spec.containers.all(c, c.image.contains('@'))"
  await addPolicy(t, cluster, 'digests', withDigest, 'images need a digest')
  await until('the policy takes effect', () => denies(api, 'digests', pod({})))
  const { outcome, dryRun } = await explain('digests', 'job.json')
  t.match(dryRun, { verdict: 'unknown', sentence: /images need a digest$/ })
  t.equal(outcome, 'injected')
}

async function admitsMissingRight(t: Test, { cluster }: Setting): Promise<void> {
  const create = ['-n', 'unshared', 'create']
  const account = '--serviceaccount=unshared:default'
  await kubectl(cluster, [...create, 'rolebinding', 'view', '--clusterrole=view', account])
  const raw = await kubectl(cluster, ['config', 'view', '--raw', '--flatten', '-o', 'json'])
  const config = JSON.parse(raw)
  const token = (await kubectl(cluster, [...create, 'token', 'default'])).trim()
  config.users[0].user = { token }
  const folder = t.testdir({
    kubeconfig: JSON.stringify(config),
    'job.json': JSON.stringify({ ...job, spec: { template: { ...template, ...ANNOTATED } } }),
  })
  const viewer = ['--kubeconfig', `${folder}/kubeconfig`, '-n', 'unshared']
  await until('the role binding takes effect', async () => {
    return (await run(['explain', 'pod/none', ...viewer])).err.includes('there is no pod/none')
  })
  const { out } = await run(['explain', '-f', `${folder}/job.json`, ...viewer, '-o', 'json'])
  const found = JSON.parse(out)[0].findings.find(({ name }: Named) => name === 'dry run')
  t.match(found, { verdict: 'unknown', sentence: /cannot create resource "pods"/ })
}

async function doctorNamesPolicy(t: Test, { cluster }: Setting): Promise<void> {
  const doctor = async (namespace: string) => {
    const where = ['--kubeconfig', cluster.kubeconfig, '-n', namespace]
    const { out } = await run([
      ...['doctor', ...where, '--webhook-configuration', NAME, '-o', 'json'],
    ])
    return JSON.parse(out).checks.find(({ name }: Named) => name === 'dry run: pod')
  }
  t.match(await doctor('shared'), { verdict: 'ok' })
  t.match(await doctor('unshared'), {
    verdict: 'no',
    sentence: new RegExp(`namespace unshared, the pod was denied only with .*${MESSAGE}$`),
    remedy: /^ask the administrator of the policy/,
  })
}
