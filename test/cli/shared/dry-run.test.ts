import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { type Json, ride } from '../../src/core/build.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { run } from '../command.ts'

// Tests of explain with dry runs of a pod with observers and without, on a cluster with a webhook.
// The test `policies` of test/cluster uses a real policy.

const JOB = `apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: hpc}
spec:
  template:
    metadata: {annotations: {ridealong.dev/inject: perf-sysstat}}
    spec: {restartPolicy: Never, containers: [{name: app, image: app}]}
`

/** An error of the apiserver: its status code and its message. */
type Denial = readonly [number, string] | undefined

/** Starts a cluster that creates pods in dry runs unless `deny` returns an error. */
async function clusterWith(t: Test, deny: (spec: Json, annotations: Json) => Denial) {
  const created: Json[] = []
  const authority = await makeAuthority()
  const own = await authority.issue({ names: ['127.0.0.1'] })
  const server = createServer(own, async (request, response) => {
    const body = await text(request)
    if (request.method !== 'POST') {
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', message: 'no right to read' }))
      return
    }
    const { pod } = ride(JSON.parse(body))
    const { metadata, spec } = pod as unknown as { metadata: Json; spec: Json }
    created.push(spec)
    const [code, message] = deny(spec, (metadata.annotations ?? {}) as Json) ?? [201, undefined]
    const answer = message === undefined ? pod : { kind: 'Status', message }
    response.writeHead(code).end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const config = kubeconfigOf(`https://127.0.0.1:${port}`, authority.ca)
  const folder = t.testdir({ config, 'job.yaml': JOB })
  const explain = async () => {
    const words = ['explain', '-f', `${folder}/job.yaml`, '--kubeconfig', `${folder}/config`]
    const { code, out, err } = await run([...words, '-o', 'json', '--observer-image', 'o:1'])
    const [explanation] = out === '' ? [] : JSON.parse(out)
    const found = explanation?.findings.find(({ name }: Json) => name === 'dry run')
    return { code, err, explanation, found }
  }
  return { explain, created }
}

const SHARING = 'denied request: pods must not share their process namespace.'

t.test('explain names the policy that denies a pod only with observers', async (t) => {
  const { explain, created } = await clusterWith(t, (spec) => {
    return spec.shareProcessNamespace === true ? [422, SHARING] : undefined
  })
  const { code, err, explanation, found } = await explain()
  t.equal(code, 1, err)
  t.match(found, { verdict: 'no', reason: 'admission-policy' })
  t.match(found.sentence, / share their process namespace$/)
  t.match(explanation.remedy, /exception/)
  t.strictSame(
    created.map(({ shareProcessNamespace }) => shareProcessNamespace),
    [true, undefined],
    'one dry run with observers, one without',
  )
})

t.test('an admitted pod needs no second dry run', async (t) => {
  const { explain, created } = await clusterWith(t, () => undefined)
  t.match(await explain(), { found: { verdict: 'ok' } })
  t.equal(created.length, 1)
})

t.test('explain does not blame observers for an error that both pods have', async (t) => {
  const messages = [
    [403, 'pods is forbidden: User "ann" cannot create resource "pods"'],
    [422, 'denied request: the image has no digest'],
    [404, 'namespaces "hpc" not found'],
  ] as const
  for (const denial of messages) {
    const { explain } = await clusterWith(t, () => denial)
    const { explanation, found } = await explain()
    t.match(found, { verdict: 'unknown', sentence: new RegExp(`: ${denial[1]}$`) })
    t.not(explanation.reason, 'admission-policy')
  }
})

t.test('explain does not blame observers for an error that may pass', async (t) => {
  for (const code of [429, 500]) {
    const { explain, created } = await clusterWith(t, () => [code, 'try again'])
    t.match(await explain(), { found: { verdict: 'unknown', sentence: /: try again$/ } })
    t.equal(created.length, 1)
  }
})
