import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Api } from '../../api.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { IMAGES } from '../../machine/images.ts'
import { CHART, configurationName, helm, OWN_IMAGES, type Release } from '../../release/helm.ts'
import { ASKS } from '../../release/own-certificate.ts'
import { settled } from '../../release/replicas.ts'
import { startSlowWebhook } from '../../release/slow-webhook.ts'
import { during } from '../../release/steady-load.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'

// Installs the chart twice: the default release, and a release with a revision. While pods are
// created, namespaces are moved from one release to the other and back, and the second release is
// upgraded and removed. Each pod must have its observer, exactly once, from one of the releases.
//
// With --set arming.repair=false for both releases, namespaces are not marked when they move, and
// the test fails with missed pods.

/** How long namespaces are moved before the upgrade. */
const { REVISION_SECONDS = '60' } = process.env
const SECONDS = Number(REVISION_SECONDS)

/** Pods per second. */
const RATE = 50

const REVISION = 'next'
const LABEL = 'ridealong.dev/revision'
const MARK = 'ridealong.dev/moved-from'

const DEFAULT = 'ridealong-revisions'
const NEXT = `${DEFAULT}-next`

/**
 * The name of a webhook that Kubernetes calls between the two releases. Its delay makes it likely
 * that a namespace moves between the two calls.
 */
const BETWEEN = configurationName(`${DEFAULT}-m`)
const DELAY_MS = 100

/** A metric that only the second release offers, so that the catalogs differ. */
const METRIC = {
  description: 'nothing',
  privilege: 'restricted',
  container: {
    image: IMAGES.observer,
    command: ['hold'],
    resources: { limits: { cpu: '1m', memory: '1Mi' } },
  },
}

/** Namespaces of which the first two move every second, and the others stay for a while. */
const FAST = ['revisions-a', 'revisions-b']
const SLOW = ['revisions-c', 'revisions-d', 'revisions-e', 'revisions-f']
const FAST_MS = 500
const SLOW_MS = 3500

async function install(
  t: Test,
  cluster: Cluster,
  api: Api,
  name: string,
  words: readonly string[],
): Promise<Release> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, name, { labels })
  const release = { cluster, name }
  t.teardown(() => helm(release, 'uninstall').catch(() => {}))
  await helm(release, 'install', [
    ...[CHART, ...OWN_IMAGES, '--set', 'certificates.mode=self'],
    ...words,
  ])
  return release
}

/** Creates a pod in a dry run, and returns the revision of the catalog in its status. */
async function catalogIn(api: Api, namespace: string): Promise<string | undefined> {
  const { body } = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'tried-', annotations: ASKS },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  })
  return JSON.parse(body.metadata.annotations['ridealong.dev/status'] ?? '{}').catalog
}

function choose(api: Api, namespace: string, revision: string | null) {
  const labels = { [LABEL]: revision }
  return api.merge(`/api/v1/namespaces/${namespace}`, { metadata: { labels } })
}

/** Moves namespaces from one release to the other, in turn, until the signal is aborted. */
function startMoves(api: Api, namespaces: readonly string[], pauseMs: number) {
  const stopped = new AbortController()
  const { signal } = stopped
  let moves = 0
  const run = async () => {
    for (let turn = 0; !signal.aborted; turn += 1) {
      const isNext = Math.floor(turn / namespaces.length) % 2 === 0
      await choose(api, namespaces[turn % namespaces.length] ?? '', isNext ? REVISION : null)
      moves += 1
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }
  const running = run()
  return async () => {
    stopped.abort()
    await running
    return moves
  }
}

t.test('two releases handle the pods of their namespaces', async (t) => {
  const setting = await installReleases(t)
  const { api } = setting

  await t.test('a namespace chooses the release with a label', (t) =>
    labelChoosesRelease(t, setting),
  )

  await t.test('each pod is injected once while namespaces move', (t) =>
    injectsWhileMoving(t, setting),
  )

  await t.test('after the removal, no label of Ridealong names the second release', async (t) => {
    const { body } = await api.get('/api/v1/namespaces?labelSelector=ridealong.dev%2Frevision')
    t.strictSame(body.items, [])
    await until('all marks are removed', async () => {
      const marked = await api.get('/api/v1/namespaces?labelSelector=ridealong.dev%2Fmoved-from')
      return marked.body.items.length === 0
    })
  })
})

async function installReleases(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await install(t, cluster, api, DEFAULT, [])
  const next = await install(t, cluster, api, NEXT, [
    ...['--set', `revision=${REVISION}`],
    ...['--set-json', `catalog.metrics=${JSON.stringify({ nothing: METRIC })}`],
  ])
  await startSlowWebhook(t, cluster, BETWEEN, DELAY_MS)
  const namespaces = [...FAST, ...SLOW]
  for (const name of namespaces) {
    await createNamespace(t, api, name, { labels: { slow: 'yes' } })
  }
  const catalogs = { default: await catalogIn(api, 'revisions-a'), next: '' }
  return { api, catalogs, namespaces, next }
}

type Setting = Awaited<ReturnType<typeof installReleases>>

async function labelChoosesRelease(t: Test, { api, catalogs, namespaces }: Setting): Promise<void> {
  const moved = await choose(api, 'revisions-a', REVISION)
  t.match(moved.body.metadata.labels, { [MARK]: 'default' }, 'the former release is marked')
  await until('the release of the label handles pods', async () => {
    const catalog = await catalogIn(api, 'revisions-a')
    catalogs.next = catalog ?? ''
    return catalog !== catalogs.default && catalog !== undefined
  })
  await until('the mark is removed', async () => {
    const { body } = await api.get('/api/v1/namespaces/revisions-a')
    return body.metadata.labels[MARK] === undefined
  })
  t.equal(await catalogIn(api, 'revisions-a'), catalogs.next)
  t.equal(await catalogIn(api, 'revisions-b'), catalogs.default)
  const misnamed = await choose(api, 'revisions-b', 'unknown-revision')
  t.equal(misnamed.status, 200)
  await until('no release handles a namespace with an unknown revision', async () => {
    return (await catalogIn(api, 'revisions-b')) === undefined
  })
  for (const name of FAST) await choose(api, name, null)
  await until('the default release handles all pods', async () => {
    const found = await Promise.all(namespaces.map((name) => catalogIn(api, name)))
    return found.every((catalog) => catalog === catalogs.default)
  })
}

async function injectsWhileMoving(
  t: Test,
  { namespaces, api, next, catalogs }: Setting,
): Promise<void> {
  for (const name of namespaces.filter((_, place) => place % 2 === 0)) {
    const path = `/api/v1/namespaces/${name}`
    const { body } = await api.merge(path, { metadata: { annotations: ASKS } })
    t.match(body.metadata.labels, { 'ridealong.dev/armed': 'true' })
  }
  const places = namespaces.map((namespace, place) => ({
    namespace,
    annotations: place % 2 === 0 ? {} : ASKS,
  }))
  const tally = await during(t, api, { places, rate: RATE }, async () => {
    const ends = [startMoves(api, FAST, FAST_MS), startMoves(api, SLOW, SLOW_MS)]
    await sleep(SECONDS * 1000)
    await helm(next, 'upgrade', [CHART, '--reuse-values', '--set', 'webhook.timeoutSeconds=4'])
    await settled(next, 2)
    const moves = await Promise.all(ends.map((end) => end()))
    t.comment(`${moves.reduce((sum, count) => sum + count, 0)} moves`)
    for (const name of namespaces) await choose(api, name, null)
    await helm(next, 'uninstall')
  })
  t.comment(JSON.stringify(tally))
  t.ok(tally.created > 0)
  const expected = { missed: 0, left: 0, wrong: 0, denied: [], warned: 0 }
  t.match(tally, expected, 'each pod has its observer, exactly once')
  const known = [catalogs.default, catalogs.next].sort()
  t.strictSame(Object.keys(tally.catalogs).sort(), known, 'each release has injected pods')
}
