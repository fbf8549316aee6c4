import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run } from '../../cli/command.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run as runProgram, tools } from '../machine/tools.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests of the copies that `kubectl debug --copy-to` makes of injected pods. A copy with another
// container has the observers of the pod, but none of its annotations, and its namespace requests
// observers too. With only --set-image, the copy keeps its annotations.

const NAME = 'debug-copies'
const CHART = fileURLToPath(new URL('../../../charts/ridealong', import.meta.url))
const CONTAINER = { name: 'app', image: 'app' }
const STATUS = 'ridealong.dev/status'

const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }
const DENY = { ...PERF, 'ridealong.dev/on-error': 'deny' }

/** The annotations of a namespace, by its name. */
const PLACES = {
  'debug-admit': PERF,
  'debug-deny': DENY,
  'debug-container': { ...DENY, 'ridealong.dev/mode': 'container' },
  'debug-tools': { ...DENY, 'ridealong.dev/inject': 'cpu-profile' },
} as const

interface Named {
  readonly name: string
  readonly image: string
}

t.test('kubectl debug copies injected pods', async (t) => {
  const setting = await injectPods(t)

  for (const namespace of Object.keys(PLACES)) {
    await t.test(`a copy in ${namespace} keeps its observers and is not changed`, (t) =>
      keepsObservers(t, setting, namespace),
    )
  }

  for (const namespace of ['debug-admit', 'debug-deny']) {
    await t.test(`copies with other options in ${namespace} are not denied`, (t) =>
      acceptsOtherOptions(t, setting, namespace),
    )
  }

  await t.test('a copy without the installer of its tool is left, but not denied', (t) =>
    leavesWithoutInstaller(t, setting),
  )
})

async function injectPods(t: Test) {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { name: NAME })
  t.teardown(() => webhook.remove())
  // In these namespaces, the guard denies pods that the webhook did not review.
  const helm = join(await tools('helm-4', () => {}), 'helm')
  const guard = await runProgram(helm, [
    ...['template', NAME, CHART, '--namespace', 'ridealong-system'],
    ...['--set', `fullnameOverride=${NAME}`, '--show-only', 'templates/guard.yaml'],
    ...['--set', 'guard.denyNamespaceSelector.matchLabels.guard=deny'],
  ])
  await kubectl(cluster, ['apply', '--server-side', '-f', '-'], guard)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], guard))

  for (const [namespace, annotations] of Object.entries(PLACES)) {
    const labels = { guard: 'deny', 'ridealong.dev/tools': 'true' }
    await createNamespace(t, api, namespace, { annotations, labels })
    const pods = `/api/v1/namespaces/${namespace}/pods`
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'app' } }
    await until(`the pod in ${namespace} is injected`, async () => {
      await api.delete(`${pods}/app`)
      await api.post(pods, { ...pod, spec: { containers: [CONTAINER] } })
      const { body } = await api.get(`${pods}/app`)
      return JSON.parse(body.metadata?.annotations?.[STATUS] ?? '{}').outcome === 'injected'
    })
  }
  const copy = async (namespace: string, name: string, ...words: readonly string[]) => {
    await kubectl(cluster, [
      ...['debug', 'app', '-n', namespace, `--copy-to=${name}`, '--attach=false', '--quiet'],
      ...(words.some((word) => word.startsWith('--set-image')) ? [] : ['--image=debugger']),
      ...words,
    ])
    const { body } = await api.get(`/api/v1/namespaces/${namespace}/pods/${name}`)
    return body
  }
  const original = async (namespace: string) =>
    (await api.get(`/api/v1/namespaces/${namespace}/pods/app`)).body
  const explain = async (namespace: string, name: string) => {
    const words = ['explain', `pod/${name}`, '-n', namespace, '--webhook-configuration', NAME]
    const { code, out } = await run([...words, '--kubeconfig', cluster.kubeconfig, '-o', 'json'])
    const [{ outcome, reason, conclusion }] = JSON.parse(out)
    return { code, outcome, reason, conclusion }
  }
  return { original, copy, explain }
}

type Setting = Awaited<ReturnType<typeof injectPods>>

async function keepsObservers(
  t: Test,
  { original, copy, explain }: Setting,
  namespace: string,
): Promise<void> {
  const { spec } = await original(namespace)
  const copied = await copy(namespace, 'copy')
  t.equal(copied.metadata.annotations?.[STATUS], undefined)
  t.strictSame(copied.spec.initContainers, spec.initContainers)
  const names = copied.spec.containers.map(({ name }: Named) => name)
  t.strictSame(
    names.slice(0, -1),
    spec.containers.map(({ name }: Named) => name),
  )
  t.match(await explain(namespace, 'copy'), { code: 0, outcome: 'injected' })
}

async function acceptsOtherOptions(
  t: Test,
  { copy, explain, original }: Setting,
  namespace: string,
): Promise<void> {
  const fresh = await copy(namespace, 'fresh', '--keep-init-containers=false')
  const status = JSON.parse(fresh.metadata.annotations[STATUS])
  t.match(status, { outcome: 'injected', metrics: ['perf-sysstat'] }, 'it gets new observers')
  t.match(await explain(namespace, 'fresh'), { code: 0, outcome: 'injected' })

  const other = await copy(namespace, 'other', '--set-image=*=other')
  t.equal(JSON.parse(other.metadata.annotations[STATUS]).outcome, 'injected')
  t.strictSame(other.spec.initContainers, (await original(namespace)).spec.initContainers)
  t.match(await explain(namespace, 'other'), { code: 0, outcome: 'injected' })

  const alone = await copy(namespace, 'alone', '--share-processes=false')
  t.not(alone.spec.shareProcessNamespace, true, 'the choice of the author is kept')
  t.match(await explain(namespace, 'alone'), { code: 1, reason: 'altered' })
}

async function leavesWithoutInstaller(t: Test, { copy }: Setting): Promise<void> {
  const copied = await copy('debug-tools', 'fresh', '--keep-init-containers=false')
  const status = JSON.parse(copied.metadata.annotations[STATUS])
  t.match(status, { outcome: 'left', reason: 'variable-taken' })
}
