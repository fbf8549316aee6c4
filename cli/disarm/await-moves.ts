import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { MOVED_FROM_LABEL } from '../../src/core/keys.ts'
import { nameRevision } from '../../src/core/namespaces/revision.ts'
import { listNamespaces } from './list-namespaces.ts'

/**
 * The longest wait in milliseconds. A webhook removes the label after ten seconds. If no webhook
 * removes it, the removal of the release continues anyway.
 */
const LIMIT_MS = 30_000
const PAUSE_MS = 500

/**
 * Waits until no namespace has the label `ridealong.dev/moved-from` of this release. Until then,
 * the release still handles pods of namespaces that were moved to another release.
 *
 * @param revision undefined for the default release
 * @throws UsageError if namespaces cannot be listed
 */
export async function awaitMoves(
  apiserver: Apiserver,
  revision: string | undefined,
  print: (line: string) => void,
): Promise<void> {
  const labelSelector = `${MOVED_FROM_LABEL}=${nameRevision(revision)}`
  const end = performance.now() + LIMIT_MS
  for (let told = new Set<string>(); ; ) {
    const names = await listNamespaces(apiserver, labelSelector, `with the label ${labelSelector}`)
    if (names.length === 0) return
    for (const name of names.filter((one) => !told.has(one)))
      print(`Namespace ${name}: waiting until it has moved to another release`)
    told = new Set([...told, ...names])
    if (performance.now() > end) return
    await sleep(PAUSE_MS)
  }
}
