import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../../certs/make.ts'
import { run } from '../command.ts'

// Tests of `attach` on a pod that another client, such as a kubelet, changes between the read and
// the patch. The tests in test/cluster attach containers to pods of a real apiserver.

const authority = await makeAuthority()
const pair = await authority.issue({ names: ['127.0.0.1'] })

interface Named {
  readonly name: string
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

interface Patch {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec: { readonly ephemeralContainers: readonly Named[] }
}

/**
 * Starts a simulated apiserver with one pod, which another client changes before each of the first
 * `conflicts` patches.
 */
async function standIn(t: Test, conflicts: number) {
  const pod = new Pod(conflicts)
  const server = createServer(pair, async (request, response) => {
    const isPatch = request.method === 'PATCH'
    if (isPatch && !pod.patch(JSON.parse(await text(request)))) {
      const message = 'the object has been modified'
      response.writeHead(409).end(JSON.stringify({ kind: 'Status', message }))
      return
    }
    const isPod = request.url?.includes('/pods/')
    if (!request.url?.startsWith('/api/v1/namespaces/hpc')) response.writeHead(404)
    response.end(JSON.stringify(isPod ? pod.object : { metadata: {} }))
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
  return { attach, tries: () => pod.tries }
}

t.test(
  'attach reads and patches a pod again if another client changed the pod before the patch',
  async (t) => {
    const { attach, tries } = await standIn(t, 2)
    t.match(await attach(), { code: 0, err: '', out: /^perf-sysstat observes container db of pod/ })
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

t.test(
  'attach fails after five patches if another client changes the pod before each patch',
  async (t) => {
    const { attach, tries } = await standIn(t, 99)
    t.match(await attach(), {
      code: 2,
      out: '',
      err: /^ridealong: cannot add an ephemeral container: .*the object has been modified\n$/,
    })
    t.equal(tries(), 5)
  },
)
