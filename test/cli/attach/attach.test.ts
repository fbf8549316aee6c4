import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { ride } from '../../src/core/build.ts'
import { run } from '../command.ts'

// Tests of `attach` on a pod that another client, such as a kubelet, changes between the read and
// the patch. The tests in test/cluster attach containers to pods of a real apiserver.

const authority = await makeAuthority()
const pair = await authority.issue({ names: ['127.0.0.1'] })

interface Named {
  readonly name: string
  readonly image?: string
}

/** A pod that another client changes before each of the first `conflicts` patches. */
class Pod {
  tries = 0
  readonly #conflicts: number
  #version = 1
  #ephemeral: readonly Named[] = []

  constructor(conflicts: number) {
    this.#conflicts = conflicts
  }

  /** @returns whether the patch was for the newest version of the pod */
  patch({ metadata, spec }: Patch): boolean {
    this.tries += 1
    if (this.tries <= this.#conflicts) this.#version += 1
    if (metadata.resourceVersion !== `${this.#version}`) return false
    this.#ephemeral = spec.ephemeralContainers
    return true
  }

  get object() {
    const statuses = this.#ephemeral.map(({ name }) => ({ name, state: { running: {} } }))
    return {
      metadata: { name: 'db-0', resourceVersion: `${this.#version}` },
      spec: { containers: [{ name: 'db' }], ephemeralContainers: this.#ephemeral },
      status: { phase: 'Running', ephemeralContainerStatuses: statuses },
    }
  }
}

/** The simulated answers, other than the pod and its namespace. */
interface World {
  /** Answers the dry run of a pod; by default, no webhook changes it. */
  readonly dryRun?: (pod: object) => object | undefined
  /** Other pods of the namespace. */
  readonly pods?: readonly object[]
}

interface Patch {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec: { readonly ephemeralContainers: readonly Named[] }
}

/** Returns the status and the object that answer a call. */
function answer(
  pod: Pod,
  { dryRun = (one) => one, pods = [] }: World,
  call: string,
  body: Patch | undefined,
): readonly [number, object] {
  if (call.startsWith('POST')) {
    const tried = dryRun(body as object)
    return tried === undefined ? [403, { message: 'forbidden' }] : [200, tried]
  }
  if (/\/pods(\?.*)?$/.test(call)) return [200, { items: pods }]
  if (body !== undefined && !pod.patch(body))
    return [409, { kind: 'Status', message: 'the object has been modified' }]
  const status = / \/api\/v1\/namespaces\/hpc/.test(call) ? 200 : 404
  return [status, call.includes('/pods/') ? pod.object : { metadata: {} }]
}

/**
 * Starts a simulated apiserver with one pod, which another client changes before each of the first
 * `conflicts` patches.
 */
async function standIn(t: Test, conflicts: number, world: World = {}) {
  const pod = new Pod(conflicts)
  const server = createServer(pair, async (request, response) => {
    const { method = '', url = '' } = request
    const body = method === 'GET' ? undefined : JSON.parse(await text(request))
    const [status, object] = answer(pod, world, `${method} ${url}`, body)
    response.writeHead(status).end(JSON.stringify(object))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const data = Buffer.from(authority.ca).toString('base64')
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': data }
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'of-the-test' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'hpc' } }],
    'current-context': 'x',
  }
  const folder = t.testdir({ kubeconfig: JSON.stringify(config) })
  const words = ['--metric', 'perf-sysstat', '--kubeconfig', `${folder}/kubeconfig`]
  const attach = (...more: readonly string[]) => run(['attach', 'db-0', ...words, ...more])
  return {
    attach,
    tries: () => pod.tries,
    image: () => pod.object.spec.ephemeralContainers[0]?.image,
  }
}

t.test(
  'attach reads and patches a pod again if another client changed the pod before the patch',
  async (t) => {
    const { attach, tries } = await standIn(t, 2)
    t.match(await attach(), { code: 0, out: /^perf-sysstat observes container db of pod/ })
    t.equal(tries(), 3)
  },
)

t.test(
  'attach uses the namespace of --namespace, otherwise the namespace of the current context',
  async (t) => {
    const { attach } = await standIn(t, 0)
    t.match(await attach(), { code: 0, out: /hpc/ })
    t.match(await attach('-n', 'lab'), {
      code: 2,
      err: 'ridealong: there is no pod db-0 in namespace lab\n',
    })
  },
)

t.test('attach refuses an option without a value', async (t) => {
  const { attach, tries } = await standIn(t, 0)
  t.match(await attach('--option', 'rate'), {
    code: 2,
    err: 'ridealong: --option rate is not NAME=VALUE, for example rate=5\n',
  })
  t.equal(tries(), 0, 'the pod is not changed')
})

t.test(
  'attach fails after five patches if another client changes the pod before each patch',
  async (t) => {
    const { attach, tries } = await standIn(t, 99)
    t.match(await attach(), {
      code: 2,
      out: '',
      err: /\nridealong: cannot add an ephemeral container: .*the object has been modified\n$/,
    })
    t.equal(tries(), 5)
  },
)

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const SPEC = { containers: [{ name: 'app', image: 'app' }] }
const MIRRORED = await loadCatalog({ observerImage: 'mirror.example/observer:7' })

t.test('attach uses the image that the webhook of the cluster adds in a dry run', async (t) => {
  const dryRun = (pod: object) => ride(pod, { catalog: MIRRORED }).pod
  const { attach, image } = await standIn(t, 0, { dryRun })
  const { code, err } = await attach()
  t.equal(code, 0, err)
  t.equal(image(), 'mirror.example/observer:7')
  t.equal(
    err,
    'ridealong: mirror.example/observer:7: metrics and images are those of the installation that' +
      ' serves namespace hpc; --observer-image and --catalog name others\n',
  )
})

t.test('attach uses the image that the command line names, without a dry run', async (t) => {
  const dryRun = () => t.fail('a dry run was made') as never
  const { attach, image } = await standIn(t, 0, { dryRun })
  t.match(await attach('--observer-image', 'example.com/o:1'), { code: 0, err: '' })
  t.equal(image(), 'example.com/o:1')
})

t.test('without the right to create pods, attach uses the image of another pod', async (t) => {
  const observed = ride(
    { metadata: { name: 'other', annotations: ASKS }, spec: SPEC },
    { catalog: MIRRORED },
  )
  const { attach, image } = await standIn(t, 0, { dryRun: () => undefined, pods: [observed.pod] })
  const { code, err } = await attach()
  t.equal(code, 0, err)
  t.equal(image(), 'mirror.example/observer:7')
  t.match(err, /those of pod other, because a dry run in namespace hpc returned no .*forbidden/)
})

t.test('if nothing is known, attach says that it uses the built-in image', async (t) => {
  const { attach, image } = await standIn(t, 0)
  const { code, err } = await attach()
  t.equal(code, 0, err)
  t.match(image(), /^ghcr\.io\/ridealong\/observer:/)
  t.match(
    err,
    /those of the built-in catalog, because .* \(no webhook answered\) and the cluster's/,
  )
})

t.test(
  'attach adds nothing if the installation does not offer the metric or its image',
  async (t) => {
    const rows = [
      ['unknown-metric', { catalog: { ...MIRRORED, metrics: new Map() } }],
      ['observer-unavailable', { catalog: MIRRORED, heldImages: [] }],
    ] as const
    for (const [reason, place] of rows) {
      const { attach, tries } = await standIn(t, 0, { dryRun: (pod) => ride(pod, place).pod })
      const { code, err } = await attach()
      t.equal(code, 2)
      t.match(err, `the installation that serves namespace hpc answers ${reason}: `)
      t.equal(tries(), 0)
    }
  },
)

t.test('attach adds nothing if the node fails to pull the image for another pod', async (t) => {
  const failing = {
    metadata: { namespace: 'hpc', name: 'other' },
    spec: { containers: [{ name: 'a', image: 'mirror.example/observer:7' }] },
    status: { containerStatuses: [{ name: 'a', state: { waiting: { reason: 'ErrImagePull' } } }] },
  }
  const dryRun = (pod: object) => ride(pod, { catalog: MIRRORED }).pod
  const { attach, tries } = await standIn(t, 0, { dryRun, pods: [failing] })
  const { code, err } = await attach()
  t.equal(code, 2)
  t.match(err, 'cannot pull mirror.example/observer:7: in pod hpc/other, ErrImagePull')
  t.equal(tries(), 0)
})
