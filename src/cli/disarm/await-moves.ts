import { setTimeout as sleep } from 'node:timers/promises'
import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../cluster/apiserver.ts'
import { MOVED_FROM_LABEL } from '../../core/keys.ts'
import { asObjects, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { nameRevision } from '../../core/namespaces/revision.ts'
import { UsageError } from '../shared/errors.ts'
import { describeRefusal } from '../shared/refusal.ts'

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
    const names = await list(apiserver, labelSelector)
    if (names.length === 0) return
    for (const name of names.filter((one) => !told.has(one)))
      print(`Namespace ${name}: waiting until it has moved to another release`)
    told = new Set([...told, ...names])
    if (performance.now() > end) return
    await sleep(PAUSE_MS)
  }
}

async function list({ ask }: Apiserver, labelSelector: string): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  try {
    const { items } = await ask({ path: '/api/v1/namespaces', query: { labelSelector }, signal })
    return asObjects(items).map(({ metadata }) => String(fieldsOrNone(metadata).name))
  } catch (error) {
    throw new UsageError(
      `cannot list namespaces with the label ${labelSelector}: ${describeRefusal(error)}`,
    )
  }
}
