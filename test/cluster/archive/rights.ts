import type { Test } from 'tap'
import { waitUntilEstablished } from '../established.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { renderTemplate } from '../release/chart.ts'
import { kubeconfigOf } from '../release/doctor-rights.ts'

/**
 * Creates the definition of Run, and the rights of the chart for an archive, until the test ends.
 *
 * @param name the name and the namespace of the release. The namespace must exist
 * @param more words for Helm with more values
 * @returns a kubeconfig of the archive, as JSON
 */
export async function createArchiveRights(
  t: Test,
  cluster: Cluster,
  name: string,
  more: readonly string[] = [],
): Promise<string> {
  const values = ['--set', `fullnameOverride=${name},archive.enabled=true`, ...more]
  const files = ['archive/definition', 'archive/rbac']
  const rendered = await Promise.all(files.map((file) => renderTemplate(file, values, name)))
  const items = rendered.flat().filter((object) => object !== null)
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(cluster, ['apply', '-f', '-'], list)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], list))
  await waitUntilEstablished(cluster, ['crd/runs.ridealong.dev'])
  return kubeconfigOf(cluster, name, `${name}-archive`)
}
