import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KEYS, STATUS_KEY } from '../../../src/core/keys.ts'
import { runProcessInTerminal } from '../../cli/command.ts'
import { FORGED, HARMFUL, HOSTILE, HOSTILE_LINE, OURS } from '../../properties/hostile-text.ts'
import { sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { renderTemplate } from '../release/chart.ts'
import { OWN_OBSERVER } from '../release/helm.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Every user who may create pods can forge the status annotation, the process names, the log and
// the owner of a pod. These tests run such pods on a real node. No verb may trust these texts, and
// no text may control a terminal.

const NAME = 'forged'
/** A namespace for which the webhook is not called. Only the guard (chart policies) warns there. */
const UNANSWERED = 'forged-unanswered'
const LEASE = 'forged-scan'
const ASKS = { [KEYS.inject]: 'perf-sysstat' }

/**
 * A script that starts processes with hostile names. The kernel keeps the first 15 bytes of a name,
 * which cannot contain a slash or NUL.
 */
const PROCESSES = `
for name in "$(printf '\\033]0;PWNED\\007')" "$(printf '\\302\\2332J\\nFORGED')"; do
  cp /bin/sleep "/tmp/$name" && "/tmp/$name" 600 &
done
wait`

const app = (command: string) => ({
  name: 'app',
  image: DEBIAN_IMAGE,
  command: ['sh', '-c', command],
})

const row = (command: string) =>
  JSON.stringify([{ time: 102836, uid: 0, pid: 7, percent_cpu: 1, command }])

/** A log in the format of an observer, with hostile text in every place that can contain text. */
const LOG = [
  `METADATA START ${JSON.stringify({ metricName: 'perf-sysstat', owner: HOSTILE, pod: HOSTILE })}`,
  'METADATA END',
  HOSTILE_LINE,
  'METRICS OPERATOR COLLECTION START',
  'METRICS OPERATOR TIMEPOINT',
  'CPU STATISTICS TASK',
  row(HOSTILE),
  row('a forger'),
  'METRICS OPERATOR COLLECTION END',
  HOSTILE_LINE,
  '',
].join('\n')

/** A container that has the name of an observer and prints LOG. */
const FORGER = {
  ...{ name: 'perf-sysstat', image: DEBIAN_IMAGE, restartPolicy: 'Always' },
  ...{
    command: ['sh', '-c', 'printf %s "$LOG"; exec sleep 600'],
    env: [{ name: 'LOG', value: LOG }],
  },
}

/** The conclusion of `explain` for a pod if no webhook answered at its creation. */
const NO_ANSWER =
  /^The pod requests observers, but the webhook did not answer when the pod was created\.$/m

/** The notice about the log of the forged container. */
const DIFFERS =
  /container perf-sysstat has image .*\/library\/debian.* its log may not come from an observer/

interface Forgery {
  /** Builds the forged status from the revision of the catalog. */
  readonly status: (catalog: string) => string
  readonly spec?: object
  readonly metadata?: object
  /** The webhook's warning when the pod is created; undefined if the webhook adds an observer. */
  readonly decided?: RegExp
  /** The guard's warning if no webhook answers. */
  readonly guarded: RegExp
  /** The conclusion of `explain` about the running pod. */
  readonly explained: RegExp
  /** The conclusion of `explain` about the manifest of the pod. */
  readonly wouldBe: RegExp
}

const injected = (metrics: readonly string[], more: object) =>
  JSON.stringify({ outcome: 'injected', metrics, mode: 'native', ...more })
const left = JSON.stringify({
  ...{ outcome: 'left', reason: 'observer-unavailable' },
  message: `call 555-0100 ${HOSTILE}`,
})

const FORGERIES: Readonly<Record<string, Forgery>> = {
  'other-image': {
    status: (catalog) => injected(['perf-sysstat'], { catalog }),
    spec: { shareProcessNamespace: true, initContainers: [FORGER] },
    decided: /^ridealong: observer-differs: container perf-sysstat has image /,
    guarded: /a container differs from the observer of the catalog: perf-sysstat runs docker\.io/,
    explained: /injected with perf-sysstat, but this is not verified: container perf-sysstat has/,
    wouldBe: /^The pod would not be changed: container perf-sysstat has image/m,
  },
  absent: {
    status: (catalog) => injected(['perf-sysstat', 'io-sysstat', HOSTILE], { catalog }),
    spec: { shareProcessNamespace: true },
    guarded: /altered after Ridealong added it: perf-sysstat, io-sysstat, an invalid name$/,
    explained:
      /^The pod was injected, but .*: perf-sysstat is missing; io-sysstat is missing; "\?\]0;PWNED/m,
    wouldBe: /^The pod would be injected with perf-sysstat\.$/m,
  },
  unavailable: {
    status: () => left,
    guarded: /^$/,
    explained: /^The pod was created without observers: call 555-0100 \\u001b\]0;PWNED\\u0007/m,
    wouldBe: /^The pod would be injected with perf-sysstat\.$/m,
  },
  long: {
    status: (catalog) => injected(['perf-sysstat'], { catalog, more: 'x'.repeat(250_000) }),
    guarded: /altered after Ridealong added it: perf-sysstat$/,
    explained: NO_ANSWER,
    wouldBe: /^The pod would be injected with perf-sysstat\.$/m,
  },
  'not-json': {
    status: () => `{"outcome":"injected","metrics":["${HOSTILE}`,
    guarded: /altered after Ridealong added it: an invalid name$/,
    explained: NO_ANSWER,
    wouldBe: /^The pod would be injected with perf-sysstat\.$/m,
  },
  owned: {
    status: () => left,
    // The garbage collector deletes a pod whose owner does not exist, but only if the kind exists.
    metadata: {
      ownerReferences: [
        {
          apiVersion: 'forged.example/v1',
          kind: 'Thing',
          name: HOSTILE,
          uid: 'u',
          controller: true,
        },
      ],
    },
    guarded: /^$/,
    explained: /^The pod was created without observers: call 555-0100 \\u001b\]0;PWNED\\u0007/m,
    wouldBe: /^The pod would be injected with perf-sysstat\.$/m,
  },
}

const podOf = (
  name: string,
  { spec = {}, metadata = {} }: Partial<Forgery>,
  annotations: object,
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { run: NAME }, annotations, ...metadata },
  spec: {
    ...{ containers: [app('exec sleep 600')], restartPolicy: 'Never' },
    ...{ terminationGracePeriodSeconds: 0, ...spec },
  },
})

/**
 * Starts the webhook, which also scans for pods without their observers, and installs the policies
 * of the guard.
 */
async function install(t: Test, cluster: Cluster, api: Api) {
  await api.post('/apis/coordination.k8s.io/v1/namespaces/default/leases', {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: LEASE } },
  })
  t.teardown(() => api.delete(`/apis/coordination.k8s.io/v1/namespaces/default/leases/${LEASE}`))
  const words = ['--set', `fullnameOverride=${NAME},${OWN_OBSERVER}`]
  const policies = await Promise.all(
    ['guard', 'guard-observers'].map((file) => renderTemplate(file, words)),
  )
  const manifests = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policies.flat() })
  await kubectl(cluster, ['apply', '-f', '-'], manifests)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], manifests))
  const scan = ['--scan-lease', `default/${LEASE}`, '--scan-interval', '1']
  const webhook = await startWebhook(cluster, {
    name: NAME,
    namespace: NAME,
    words: ['--observer-image', IMAGES.observer, ...scan],
  })
  t.teardown(() => webhook.remove())
  return webhook
}

/**
 * Creates a pod without a forgery, and the forged pods. The status annotation of each forged pod is
 * changed after the pod is created.
 *
 * @returns the revision of the catalog
 */
async function runPods(cluster: Cluster, api: Api): Promise<string> {
  const path = `/api/v1/namespaces/${NAME}/pods`
  const annotations = { ...ASKS, 'perf-sysstat.ridealong.dev/rate': '1' }
  const control = podOf('control', { spec: { containers: [app(PROCESSES)] } }, annotations)
  const { body } = await api.post(path, control)
  const { catalog } = JSON.parse(body.metadata.annotations[STATUS_KEY])
  await Promise.all(
    Object.entries(FORGERIES).map(async ([name, forgery]) => {
      await api.post(path, podOf(name, forgery, {}))
      const forged = { ...ASKS, [STATUS_KEY]: forgery.status(catalog) }
      await api.merge(`${path}/${name}`, { metadata: { annotations: forged } })
    }),
  )
  const ready = ['wait', '--for=condition=Ready', 'pod', '-l', `run=${NAME}`, '-n', NAME]
  await kubectl(cluster, [...ready, '--timeout=300s'])
  return catalog
}

t.test('a forged status annotation of a running pod does not mislead any verb', async (t) => {
  const setting = await runForgedPods(t)

  await t.test(
    'webhook and guard check the containers of a pod, not its forged status annotation',
    (t) => checksContainers(t, setting),
  )

  await t.test('explain describes the running pod, and predicts the result for a manifest', (t) =>
    explainIsNotMisled(t, setting),
  )

  await t.test('collect reads only existing logs, and marks the log of a forged container', (t) =>
    collectMarksForged(t, setting),
  )

  await t.test('the report marks the forged log, and the doctor is not misled', (t) =>
    reportMarksForged(t, setting),
  )

  await t.test('the scan counts forged pods, and its Events contain no text of the pods', (t) =>
    scanCountsForged(t, setting),
  )
})

async function runForgedPods(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, NAME)
  await createNamespace(t, api, UNANSWERED)
  const webhook = await install(t, cluster, api)
  const catalog = await runPods(cluster, api)
  const at = ['--kubeconfig', cluster.kubeconfig, '-n', NAME]
  const same = ['--webhook-configuration', NAME, '--observer-image', IMAGES.observer]
  const image = ['--observer-image', IMAGES.observer]
  const logs = ['collect', '-l', `run=${NAME}`, ...at, ...image]
  const folder = t.testdir()
  const here = `/api/v1/namespaces/${NAME}`

  const tryUnanswered = async (pod: object) => {
    const { warnings } = await api.post(`/api/v1/namespaces/${UNANSWERED}/pods?dryRun=All`, pod)
    return warnings.join('\n')
  }
  // The apiserver reads policies from a watch, so they take effect with a delay.
  for (const name of ['absent', 'other-image']) {
    const forgery = FORGERIES[name] as Forgery
    await until(`the policies apply to the pod ${name}`, async () => {
      return forgery.guarded.test(await tryUnanswered(recreated(name, forgery, catalog)))
    })
  }
  return { catalog, api, here, tryUnanswered, folder, at, same, cluster, logs, image, webhook }
}

type Setting = Awaited<ReturnType<typeof runForgedPods>>

async function checksContainers(
  t: Test,
  { catalog, api, here, tryUnanswered }: Setting,
): Promise<void> {
  for (const [name, forgery] of Object.entries(FORGERIES)) {
    const again = recreated(name, forgery, catalog)
    const { body, warnings } = await api.post(`${here}/pods?dryRun=All`, again)
    const names = body.spec.initContainers?.map((one: { name: string }) => one.name)
    t.strictSame(names, ['perf-sysstat'], `${name}: the pod has one observer`)
    const isOurs = body.spec.initContainers[0].image === IMAGES.observer
    const shouldBeOurs = forgery.decided === undefined
    t.equal(isOurs, shouldBeOurs, `${name}: the observer has the image of the catalog`)
    t.match(warnings[0] ?? '', forgery.decided ?? /^$/, `${name}: the webhook's warning`)
    const unanswered = await tryUnanswered(again)
    t.match(unanswered, forgery.guarded, `${name}: the guard's warning`)
    t.equal(HARMFUL.exec(unanswered)?.[0], undefined, `${name}: the warning is printable`)
  }
}

async function explainIsNotMisled(t: Test, { folder, catalog, at, same }: Setting): Promise<void> {
  for (const [name, forgery] of Object.entries(FORGERIES)) {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(recreated(name, forgery, catalog)))
    const [live, manifest] = await Promise.all([
      show(t, ['explain', `pod/${name}`, ...at, ...same]),
      show(t, ['explain', '-f', file, ...at, ...same]),
    ])
    t.match(live, { code: 1, out: forgery.explained }, `the running pod ${name}`)
    const code = forgery.decided === undefined ? 0 : 1
    t.match(manifest, { code, out: forgery.wouldBe }, `the manifest of ${name}`)
  }
  const control = await show(t, ['explain', 'pod/control', ...at, ...same])
  t.match(control, { code: 0, out: /The pod was injected with perf-sysstat\.$/m })
}

async function collectMarksForged(t: Test, { cluster, logs, at, image }: Setting): Promise<void> {
  await until('both process names are in the log', async () => {
    const words = ['logs', '-n', NAME, 'control', '-c', 'perf-sysstat']
    const text = await kubectl(cluster, words)
    return text.includes('?]0;PWNED?') && text.includes('?2J?FORGED')
  })
  for (const form of ['jsonl', 'csv', 'logs']) {
    const { code, out } = await show(t, [...logs, '-o', form])
    t.equal(code, 0, `${form}: all logs were collected`)
    t.match(out, DIFFERS, `${form}: a notice marks the forged log`)
    const without = /forged\/(absent|unavailable|long|not-json|owned)\//
    t.notMatch(out, without, `${form}: pods without an observer have no log`)
    t.match(out, /\?\]0;PWNED\?/, `${form}: the process name is printable`)
  }
  const none = await show(t, ['collect', 'pod/unavailable', ...at, ...image])
  t.match(none, {
    code: 2,
    out: /there are no observers in the 1 pod of pod\/unavailable; .* was left without observers: /,
  })
}

async function reportMarksForged(t: Test, { folder, logs, at }: Setting): Promise<void> {
  const rows = join(folder, 'rows.jsonl')
  t.equal((await show(t, [...logs, '--to', rows])).code, 0)
  const page = await show(t, ['report', rows, '-o', 'json'])
  t.equal(page.code, 0)
  t.match(page.out, /its log may not come from an observer/)
  const { out } = await show(t, ['doctor', ...at, '--webhook-configuration', NAME])
  t.match(out, /^ok +dry run: pod +in a dry run in namespace forged, the pod got /m)
}

async function scanCountsForged(t: Test, { webhook, api, here, cluster }: Setting): Promise<void> {
  const count = async (reason: string) =>
    sampleOf(await webhook.metrics(), 'ridealong_unobserved_pods', { reason })
  await until('the scan counts the altered pods', async () => (await count('altered')) === 2)
  await until(
    'the scan counts the pods with the forged reason',
    async () => (await count('observer-unavailable')) === 2,
  )
  t.equal(await count('unanswered'), 0)
  const events = async () =>
    (await api.get(`${here}/events?fieldSelector=source=ridealong`)).body.items
  await until('the pods have Events', async () => (await events()).length >= 4)
  const items: readonly EventObject[] = await events()
  t.strictSame(
    items.map(({ reason, involvedObject: { kind, name } }) => `${reason} ${kind}/${name}`).sort(),
    [
      'ObserverAltered Pod/absent',
      'ObserverAltered Pod/other-image',
      'ObserverUnavailable Pod/owned',
      'ObserverUnavailable Pod/unavailable',
    ],
  )
  const messages = items.map(({ message }) => message).join('\n')
  t.notMatch(messages, /PWNED|call 555-0100|debian/)
  const described = await kubectl(cluster, ['get', 'events', '-n', NAME])
  t.equal(HARMFUL.exec(described)?.[0], undefined)
}

interface EventObject {
  readonly reason: string
  readonly message: string
  readonly involvedObject: { readonly kind: string; readonly name: string }
}

/** Returns a manifest of a second pod with the same containers and the same status annotation. */
function recreated(name: string, forgery: Forgery, catalog: string) {
  const annotations = { ...ASKS, [STATUS_KEY]: forgery.status(catalog) }
  return podOf(`${name}-again`, { spec: forgery.spec ?? {} }, annotations)
}

/**
 * Runs a verb in a real terminal, and checks that the output contains only text and Ridealong's own
 * colours.
 */
async function show(t: Test, args: readonly string[]) {
  const { code, out } = await runProcessInTerminal(args)
  const text = out.replace(OURS, '')
  const verb = args.slice(0, 2).join(' ')
  t.equal(HARMFUL.exec(text)?.[0], undefined, `the output of ${verb} is printable`)
  t.notMatch(text, FORGED, 'no forged text begins a line')
  return { code, out: text }
}
