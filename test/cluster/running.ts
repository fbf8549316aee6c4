import type { Test } from 'tap'
import { type Api, openApi } from './api.ts'
import { type Cluster, find, type Kind, MINORS } from './machine/cluster.ts'
import { until } from './until.ts'

/**
 * The cluster that `npm run test:cluster` has started: its minor version, and whether it has a
 * node.
 */
const { RIDEALONG_TEST_KUBERNETES: given, RIDEALONG_TEST_NODE: node } = process.env
const KIND: Kind = {
  minor: MINORS.find((minor) => minor === given) ?? MINORS[0],
  hasNode: node !== 'no',
}

/** Returns the cluster of the tests, and a client of it that is closed when the test ends. */
export async function runningCluster(t: Test): Promise<{ cluster: Cluster; api: Api }> {
  const cluster = await find(KIND)
  if (cluster === undefined) throw new Error('no cluster is running; run npm run cluster')
  const api = await openApi(cluster)
  t.teardown(() => api.close())
  return { cluster, api }
}

/**
 * Creates a namespace that is deleted when the test ends, and waits until pods can be created in
 * it. If an earlier namespace of that name is still being deleted, waits until it is deleted.
 */
export async function createNamespace(
  t: Test,
  api: Api,
  name: string,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } }
  await until(`namespace ${name} is created`, async () => {
    return (await api.post('/api/v1/namespaces', namespace)).status === 201
  })
  t.teardown(() => api.delete(`/api/v1/namespaces/${name}`))
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
  await until(`namespace ${name} has its service account`, async () => {
    return (await api.get(account)).status === 200
  })
}
