import type { Test } from 'tap'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { createNamespace } from '../running.ts'
import { startCertManager } from './cert-manager.ts'
import { CHART, helm, OWN_IMAGES, type Release } from './helm.ts'

/**
 * Installs the chart until the test ends, with certificates of the real cert-manager. The namespace
 * has the name of the release and enforces Pod Security `restricted`.
 *
 * @param words more arguments of `helm install`
 */
export async function installChart(
  t: Test,
  cluster: Cluster,
  api: Api,
  name: string,
  words: readonly string[] = [],
): Promise<Release> {
  await startCertManager(t, cluster)
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, name, { labels })
  const release = { cluster, name }
  t.teardown(() => helm(release, 'uninstall'))
  await helm(release, 'install', [CHART, ...OWN_IMAGES, ...words])
  return release
}
