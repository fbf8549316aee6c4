import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../../certs/make.ts'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { type Place, ride } from '../../../src/core/build.ts'
import { kubeconfigOf } from '../../../stand-ins/kubeconfig.ts'
import { run } from '../../command.ts'

// Tests of the verbs that name metrics or images, on a cluster with a webhook whose images come
// from another registry. The tests in test/cluster use a real installation.

const JOB = `apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: hpc}
spec:
  template:
    metadata: {annotations: {ridealong.dev/inject: perf-sysstat}}
    spec: {restartPolicy: Never, containers: [{name: app, image: app}]}
`

const MIRRORED = await loadCatalog({ observerImage: 'mirror.example/observer:7' })
const REVISION: Place = {
  catalog: await loadCatalog({ observerImage: 'mirror.example/observer:8' }),
}

const authority = await makeAuthority()
const pair = await authority.issue({ names: ['127.0.0.1'] })

/** Starts a cluster that answers dry runs of pods, by their namespace, and forbids all else. */
async function clusterOf(t: Test, places: Readonly<Record<string, Place>>) {
  const asked: string[] = []
  const server = createServer(pair, async (request, response) => {
    const { method, url = '' } = request
    asked.push(`${method} ${url}`)
    const body = await text(request)
    const [, namespace = ''] = /namespaces\/([^/]+)\/pods\?dryRun=All$/.exec(url) ?? []
    const place = places[namespace]
    if (method !== 'POST' || place === undefined) {
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', message: 'no right' }))
      return
    }
    response.end(JSON.stringify(ride(JSON.parse(body), place).pod))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const config = kubeconfigOf(`https://127.0.0.1:${port}`, authority.ca)
  const folder = t.testdir({
    config,
    'job.yaml': JOB,
    'other.yaml': JOB.replace('hpc', 'lab'),
    'defaults.yaml': JOB.replace('perf-sysstat', '"true"'),
  })
  return { folder, asked, words: ['--kubeconfig', `${folder}/config`] }
}

t.test('inject adds the image of the installation that serves each namespace', async (t) => {
  const { folder, words } = await clusterOf(t, { hpc: { catalog: MIRRORED }, lab: REVISION })
  const both = ['-f', `${folder}/job.yaml`, '-f', `${folder}/other.yaml`]
  const { code, out, err } = await run(['inject', ...both, ...words])
  t.equal(code, 0, err)
  const images = [...out.matchAll(/image: (mirror[^\s,]+)/g)].map(([, image]) => image)
  t.strictSame(images, ['mirror.example/observer:7', 'mirror.example/observer:8'])
  t.match(err, /those of the installation that serves namespace hpc; --observer-image/)
  t.match(err, /those of the installation that serves namespace lab; --observer-image/)
})

t.test('with --offline, inject asks no cluster and adds the built-in image', async (t) => {
  const { folder, asked, words } = await clusterOf(t, { hpc: { catalog: MIRRORED } })
  const job = ['-f', `${folder}/job.yaml`]
  const { code, out, err } = await run(['inject', ...job, ...words, '--offline'])
  t.match({ code, err }, { code: 0, err: '' })
  t.match(out, /image: ghcr\.io\/ridealong\/observer:/)
  t.strictSame(asked, [])
})

t.test(
  'metrics shows the images of the installation, and leaves out unknown metrics',
  async (t) => {
    const metrics = new Map([...MIRRORED.metrics].filter(([name]) => name !== 'network'))
    const { words } = await clusterOf(t, { hpc: { catalog: { ...MIRRORED, metrics } } })
    const one = await run(['metrics', 'perf-sysstat', '-n', 'hpc', ...words])
    t.match(one, { code: 0, out: /image {8}mirror\.example\/observer:7\n/ })
    const all = await run(['metrics', '-n', 'hpc', ...words])
    t.match(all.out, /^perf-sysstat /m)
    t.notMatch(all.out, /^network /m)
    t.match(all.err, /those of the installation that serves namespace hpc/)
  },
)

t.test('annotate accepts exactly the metrics of the installation', async (t) => {
  const { folder, words } = await clusterOf(t, {
    hpc: { catalog: { ...MIRRORED, metrics: new Map() } },
  })
  const metric = ['--metric', 'perf-sysstat']
  const { code, err } = await run(['annotate', '-f', `${folder}/job.yaml`, ...metric, ...words])
  t.match({ code, err }, { code: 2, err: /unknown-metric: .*"perf-sysstat"/ })
  t.match(await run(['annotate', '-f', `${folder}/job.yaml`, ...metric, '--offline']), { code: 0 })
})

t.test(
  'if nothing can be read, the built-in catalog is used, and the reason is printed',
  async (t) => {
    const { folder, words } = await clusterOf(t, {})
    const { code, out, err } = await run(['inject', '-f', `${folder}/job.yaml`, ...words])
    t.equal(code, 0, err)
    t.match(out, /image: ghcr\.io\/ridealong\/observer:/)
    t.match(err, /those of the built-in catalog, because a dry run in namespace hpc .*no right/)
  },
)

t.test('verbs use the default metrics of the installation', async (t) => {
  const catalog = { ...MIRRORED, defaultMetrics: ['network', 'pressure'] }
  const { folder, words } = await clusterOf(t, { hpc: { catalog } })
  const job = ['-f', `${folder}/defaults.yaml`]
  const { code, out, err } = await run(['inject', ...job, ...words])
  t.equal(code, 0, err)
  t.match(out, /"metrics":\["network","pressure"\]/)
  t.match(out, /image: mirror\.example\/observer:7/)
  const explained = await run(['explain', ...job, ...words, '-o', 'json'])
  const [{ outcome, findings }] = JSON.parse(explained.out)
  t.equal(outcome, 'injected')
  const request = findings.find(({ name }: { name: string }) => name === 'request')
  t.match(request.sentence, /^network .*, pressure /)
  const listed = await run(['metrics', '-n', 'hpc', ...words])
  t.match(listed.out, /^Default metrics, .*: network, pressure$/m)
  const annotated = await run(['annotate', ...job, ...words])
  t.match(annotated, { code: 0, out: /inject: "true"/ })
})

t.test('verbs say that an installation has no default metrics', async (t) => {
  const { folder, words } = await clusterOf(t, {
    hpc: { catalog: { ...MIRRORED, defaultMetrics: [] } },
  })
  const job = ['-f', `${folder}/defaults.yaml`]
  const { code, err } = await run(['inject', ...job, ...words])
  t.match(
    { code, err },
    { code: 2, err: /requests the catalog's default metrics, but it has none/ },
  )
  const listed = await run(['metrics', '-n', 'hpc', ...words])
  t.match(listed.out, /^Default metrics, .*: none$/m)
})

t.test('explain compares a pod with the catalog of the installation', async (t) => {
  const { folder, words } = await clusterOf(t, { hpc: { catalog: MIRRORED } })
  const job = ['-f', `${folder}/job.yaml`]
  const { out, err } = await run(['explain', ...job, ...words, '-o', 'json'])
  t.equal(JSON.parse(out)[0].outcome, 'injected')
  t.match(err, /those of the installation that serves namespace hpc/)
})
