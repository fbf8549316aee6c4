import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { run } from '../command.ts'

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } }
const SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { workers: { type: 'object', properties: { podAnnotations: TEXTS } } },
    },
  },
}
const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Thing', plural: 'things' },
    versions: [{ name: 'v1', schema: { openAPIV3Schema: SCHEMA } }],
  },
}
const THING = {
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  spec: { workers: { containers: [{ name: 'a', image: 'b' }] } },
}

const authority = await makeAuthority()
const pair = await authority.issue({ names: ['127.0.0.1'] })

/** Starts an apiserver that answers these paths only. */
async function serving(t: Test, answers: Readonly<Record<string, object>>) {
  const asked: string[] = []
  const server = createServer(pair, (request, response) => {
    const answer = answers[request.url ?? '']
    asked.push(request.url ?? '')
    if (answer === undefined) response.writeHead(403).end('{"kind":"Status","message":"no right"}')
    else response.end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const folder = t.testdir({ config: kubeconfigOf(`https://127.0.0.1:${port}`, authority.ca) })
  return { asked, words: ['--kubeconfig', `${folder}/config`] }
}

const FIELD = 'spec.workers.podAnnotations'
const WRITTEN = { 'ridealong.dev/inject': 'true' }

t.test('annotate writes where a definition of --crds or of the input says', async (t) => {
  const folder = t.testdir({ 'crd.json': JSON.stringify(CRD) })
  const words = ['annotate', '--offline', '-f', '-']
  const alone = await run([...words, '--strict'], JSON.stringify(THING))
  t.match(alone, { code: 1, err: /not annotated: spec\.workers\.containers; / })
  const given = await run([...words, '--crds', `${folder}/crd.json`], JSON.stringify(THING))
  t.match(given, { code: 0, err: `; annotated: ${FIELD}; ` })
  t.strictSame(JSON.parse(given.out).spec.workers.podAnnotations, WRITTEN)
  const list = { apiVersion: 'v1', kind: 'List', items: [CRD, THING] }
  const inside = await run(words, JSON.stringify(list))
  t.strictSame(JSON.parse(inside.out).items[1].spec.workers.podAnnotations, WRITTEN)
  const undone = await run(['annotate', '--undo', '-f', '-'], given.out)
  t.strictSame(undone, { code: 0, out: JSON.stringify(THING), err: '' }, 'undo needs no definition')
  const injected = await run(
    ['inject', '--offline', '-f', '-', '--crds', `${folder}/crd.json`],
    JSON.stringify(THING),
  )
  t.match(injected, { code: 1, err: `not changed: spec.workers.containers, ${FIELD}; ` })
})

t.test('a template without kept annotations is named, and gets no observers', async (t) => {
  const containers = { type: 'array', items: { properties: { image: { type: 'string' } } } }
  const template = (metadata: object) => ({
    type: 'object',
    properties: { metadata, spec: { type: 'object', properties: { containers } } },
  })
  const kept = template({ type: 'object', properties: { annotations: TEXTS } })
  const spec = { type: 'object', properties: { kept, removed: template({ type: 'object' }) } }
  const openAPIV3Schema = { type: 'object', properties: { spec } }
  const version = { name: 'v1', schema: { openAPIV3Schema } }
  const definition = { ...CRD, spec: { ...CRD.spec, versions: [version] } }
  const folder = t.testdir({ 'crd.json': JSON.stringify(definition) })
  const pod = { spec: { containers: [{ name: 'a', image: 'b' }] } }
  const thing = JSON.stringify({ ...THING, spec: { kept: pod, removed: pod } })
  for (const verb of ['annotate', 'inject']) {
    const words = [verb, '--offline', '-f', '-', '--metric', 'true']
    const { code, out, err } = await run([...words, '--crds', `${folder}/crd.json`], thing)
    t.equal(code, 1)
    t.match(err, /(annotated|changed): spec\.kept; not (annotated|changed): spec\.removed; /)
    t.strictSame(JSON.parse(out).spec.removed, pod, verb)
    t.not(JSON.parse(out).spec.kept.metadata, undefined)
  }
})

t.test('without definitions, annotate reads the schemas of the cluster', async (t) => {
  const group = [{ group: 'example.com', version: 'v1', kind: 'Thing' }]
  const schemas = { thing: { ...SCHEMA, 'x-kubernetes-group-version-kind': group } }
  const path = '/openapi/v3/apis/example.com/v1'
  const { asked, words } = await serving(t, { [path]: { components: { schemas } } })
  const { code, out, err } = await run(['annotate', '-f', '-', ...words], JSON.stringify(THING))
  t.equal(code, 0, err)
  t.strictSame(JSON.parse(out).spec.workers.podAnnotations, WRITTEN)
  t.equal(asked.filter((url) => url === path).length, 1)
})

t.test('if the schemas of the cluster cannot be read, the reason is printed', async (t) => {
  const { words } = await serving(t, {})
  const template = { spec: { containers: [{ name: 'a', image: 'b' }] } }
  const text = JSON.stringify({ ...THING, spec: { template } })
  const { code, err } = await run(['annotate', '-f', '-', ...words], text)
  t.equal(code, 0)
  t.match(err, /cannot read the schemas of the cluster: .*no right/)
})
