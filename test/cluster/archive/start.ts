import { Registry } from 'prom-client'
import type { Test } from 'tap'
import { startArchive } from '../../../cli/archive/service/archive.ts'
import { createRowsWriter } from '../../../cli/archive/storage/rows-writer.ts'
import { openRunStorage } from '../../../cli/archive/storage/stored-runs.ts'
import { VOLUME_FILES } from '../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../cli/archive/storage/volume-folders.ts'
import { findCluster } from '../../../src/cluster/access.ts'
import { capturedLog } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { createNamespace } from '../running.ts'
import { until } from '../until.ts'
import { createArchiveRights } from './rights.ts'

/**
 * Starts an archive in this process until the test ends, with the rights of the chart. It stores
 * rows on a volume.
 *
 * @param name the name of the namespace and of the release
 */
export async function startTestArchive(
  t: Test,
  cluster: Cluster,
  api: Api,
  name: string,
): Promise<void> {
  await createNamespace(t, api, name)
  const values = ['--set', 'archive.storage.enabled=true']
  const rights = await createArchiveRights(t, cluster, name, values)
  const folder = t.testdir({ archive: rights, rows: {} })
  const access = await findCluster({ kubeconfig: `${folder}/archive`, environment: {} })
  if (access === undefined) throw new Error('there is no cluster')
  const running = startArchive({
    ...{ access, namespaces: [], metrics: new Set(['vitals']), registry: new Registry() },
    storage: await openStorage(`${folder}/rows`),
    retention: { maxAgeMs: Number.POSITIVE_INFINITY, maxRuns: 100 },
    log: capturedLog().log,
  })
  t.teardown(() => running.stop())
  await until('the archive is ready', async () => running.checks().every(({ fatal }) => !fatal))
}

function openStorage(root: string) {
  const folders = openVolumeFolders(root, VOLUME_FILES)
  return openRunStorage({ root, files: VOLUME_FILES, writer: createRowsWriter(), folders })
}
