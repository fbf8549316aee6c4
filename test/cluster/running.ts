import type { Test } from 'tap'
import { type Api, openApi } from './api.ts'
import { type Cluster, find, MINORS, type Minor } from './cluster.ts'

const given = process.env.RIDEALONG_TEST_KUBERNETES
export const MINOR: Minor = MINORS.find((minor) => minor === given) ?? MINORS[0]

/** The cluster that `npm run test:cluster` has started, and a way to call it for as long as a test runs. */
export async function runningCluster(t: Test): Promise<{ cluster: Cluster; api: Api }> {
  const cluster = await find(MINOR)
  if (cluster === undefined) throw new Error('no cluster runs: npm run cluster starts one')
  const api = await openApi(cluster)
  t.teardown(() => api.close())
  return { cluster, api }
}

/** Creates a namespace that is deleted when the test ends, and waits until pods can be created in it. */
export async function createNamespace(
  t: Test,
  api: Api,
  name: string,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } }
  const { status, body } = await api.post('/api/v1/namespaces', namespace)
  if (status !== 201) throw new Error(`namespace ${name}: ${body.message}`)
  t.teardown(() => api.delete(`/api/v1/namespaces/${name}`))
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
  for (let tries = 0; (await api.get(account)).status !== 200; tries += 1) {
    if (tries > 300) throw new Error(`namespace ${name} gets no service account`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
