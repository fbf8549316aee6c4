import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { MOVED_FROM_LABEL } from '../../src/core/keys.ts'
import { nameRevision } from '../../src/core/namespaces/revision.ts'
import { pause } from '../../src/lib/pause.ts'
import { listNamespaces } from './list-namespaces.ts'

/** The longest wait. A webhook removes the label after ten seconds. */
const LIMIT_MS = 30_000
/** The pause between two requests. */
const PAUSE_MS = 500

/**
 * Waits until no namespace has the label `ridealong.dev/moved-from` of this release. Until then,
 * the release still handles pods of namespaces that were moved to another release. If no webhook
 * removes the label within 30 seconds, the removal of the release continues anyway.
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
  const printed = new Set<string>()
  for (;;) {
    const names = await listNamespaces(apiserver, labelSelector, `with the label ${labelSelector}`)
    if (names.length === 0) return
    for (const name of names.filter((name) => !printed.has(name))) {
      print(`Namespace ${name}: waiting until it has moved to another release`)
      printed.add(name)
    }
    if (performance.now() > end) return
    await pause(PAUSE_MS)
  }
}
