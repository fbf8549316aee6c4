import t, { type Test } from 'tap'
import { run } from '../../cli/command.ts'
import { parse, timepointsIn } from '../../observers/prerequisites.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// Tests of ephemeral containers in running pods, in namespaces without annotations.

const BUSY = 'trap exit TERM; while :; do sleep 0.1; done'

function pod(name: string, spec: object = {}) {
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', BUSY] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [container],
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      ...spec,
    },
  }
}

async function runPod(cluster: Cluster, namespace: string, object: ReturnType<typeof pod>) {
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(object))
  const name = `pod/${object.metadata.name}`
  await kubectl(cluster, [
    'wait',
    '--for=jsonpath={.status.phase}=Running',
    name,
    '-n',
    namespace,
    '--timeout=300s',
  ])
}

function attacher(cluster: Cluster, namespace: string) {
  return (name: string, ...words: readonly string[]) =>
    run([
      ...['attach', name, '--kubeconfig', cluster.kubeconfig, '-n', namespace],
      ...['--metric', 'perf-sysstat', '--observer-image', IMAGES.observer, ...words],
    ])
}

/** The specs of the observed pods, by the name of the pod. */
const OBSERVED = {
  alone: {},
  sharing: { shareProcessNamespace: true },
  user: { securityContext: { runAsUser: 1000, runAsGroup: 1000 } },
}

t.test('attach adds an observer to a running pod', async (t) => {
  const setting = await observePods(t)
  const { pods } = setting

  for (const pod of await Promise.all(pods)) {
    await t.test(`the log of pod ${pod.name} is complete, and a second attach is refused`, (t) =>
      logIsComplete(t, pod),
    )
  }

  await t.test('the ephemeral container has the image and user of an injected observer', (t) =>
    resemblesInjected(t, setting),
  )

  await t.test('the message of attach names the reason for a failure', (t) =>
    namesFailures(t, setting),
  )
})

async function observePods(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'explain-attach')
  const attach = attacher(cluster, 'explain-attach')
  const observe = async (name: string, spec: object) => {
    await runPod(cluster, 'explain-attach', pod(name, spec))
    const outcome = await attach(name, '--option', 'rate=1', '--option', 'completions=2')
    const [, command = ''] = outcome.out.split('\n')
    // Runs the command that `attach` prints. The log ends when the observer ends.
    const log = await kubectl(cluster, command.trim().split(' ').slice(1))
    return { name, ...outcome, command, log, again: await attach(name) }
  }
  // The pods are observed in parallel, because a kubelet takes seconds to start a container.
  const pods = Object.entries(OBSERVED).map(([name, spec]) => observe(name, spec))
  const started = runPod(cluster, 'explain-attach', pod('wrong'))
  return { api, started, attach, pods }
}

type Setting = Awaited<ReturnType<typeof observePods>>

async function logIsComplete(t: Test, pod: Awaited<Setting['pods'][number]>): Promise<void> {
  const { name, code, err, command, log, again } = pod
  t.equal(code, 0, err)
  t.equal(command, `  kubectl logs -n explain-attach ${name} -c perf-sysstat -f`)
  t.match(log, /METADATA START .*"metricName":"perf-sysstat".*"completions":2/)
  t.match(log, /"container":"app","mode":"container"/)
  t.match(log, /"container":"app","program":"sh"/, 'process 1 of the target is measured')
  t.match(log, /METRICS OPERATOR COLLECTION END/)
  const { data, metadata } = parse('perf-sysstat', log)
  t.match(metadata, { pod: name, metricOptions: { completions: 2 } })
  t.equal(timepointsIn(log), 2)
  t.equal(data.length, 2, 'the parser returns every timepoint')
  for (const { cpu_statistics_task: rows = [] } of data) {
    t.ok(rows.some(({ program }) => program === 'sh'))
  }
  t.match(again, {
    code: 2,
    out: '',
    err: /^ridealong: pod \w+: perf-sysstat is already attached/,
  })
}

async function resemblesInjected(t: Test, { api }: Setting): Promise<void> {
  const { body } = await api.get('/api/v1/namespaces/explain-attach/pods/user')
  const [added] = body.spec.ephemeralContainers
  t.match(added, {
    name: 'perf-sysstat',
    targetContainerName: 'app',
    image: IMAGES.observer,
    securityContext: { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
  })
  t.strictSame(added.resources, {})
  t.equal(added.volumeMounts, undefined)
}

async function namesFailures(t: Test, { started, attach }: Setting): Promise<void> {
  await started
  const [nobody, target, option] = await Promise.all([
    attach('nobody'),
    attach('wrong', '--target-container', 'main'),
    attach('wrong', '--option', 'rate=0'),
  ])
  t.match(nobody, {
    code: 2,
    err: 'ridealong: there is no pod nobody in namespace explain-attach\n',
  })
  t.match(target, {
    code: 2,
    err: /pod wrong: unknown-target-container: .* "main" is not .* pod, which has "app"\n$/,
  })
  t.match(option, { code: 2, err: /invalid-option: .*rate: "0" is not an integer from 1 to / })
  t.match(await attach('wrong', '--observer-image', 'localhost:1/none'), {
    code: 2,
    err: /^ridealong: ephemeral container perf-sysstat was added but has not started: ErrImagePull/,
  })
}

t.test('attach names the policy or the missing right that prevents an observer', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'explain-forbidden')
  await runPod(cluster, 'explain-forbidden', pod('root'))
  const path = '/api/v1/namespaces/explain-forbidden'
  await api.merge(path, {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  })
  const attach = attacher(cluster, 'explain-forbidden')
  const refused = /pod root: pod-security: .* enforces Pod Security restricted/
  t.match(await attach('root'), { code: 2, err: refused })

  // This service account may read pods, but not add ephemeral containers.
  const create = ['-n', 'explain-forbidden', 'create']
  await kubectl(cluster, [
    ...create,
    'rolebinding',
    'view',
    '--clusterrole=view',
    '--serviceaccount=explain-forbidden:default',
  ])
  await api.merge(path, { metadata: { labels: { 'pod-security.kubernetes.io/enforce': null } } })
  const raw = await kubectl(cluster, ['config', 'view', '--raw', '--flatten', '-o', 'json'])
  const config = JSON.parse(raw)
  const token = (await kubectl(cluster, [...create, 'token', 'default'])).trim()
  config.users[0].user = { token }
  const kubeconfig = `${t.testdir({ kubeconfig: JSON.stringify(config) })}/kubeconfig`
  const viewer = attacher({ ...cluster, kubeconfig }, 'explain-forbidden')
  await until(
    'the role binding takes effect',
    async () => !(await viewer('nobody')).err.includes('cannot get'),
  )
  t.match(await viewer('root'), {
    code: 2,
    err: /^ridealong: cannot add an ephemeral container: .*cannot patch resource "pods\/ephemeralcontainers"/,
  })
})
