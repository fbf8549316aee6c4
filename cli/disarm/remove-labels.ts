import { describeApiError } from '../../src/cluster/api-error.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../src/cluster/apiserver.ts'
import { ARMED_LABEL, REVISION_LABEL } from '../../src/core/keys.ts'
import { fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { pause } from '../../src/lib/pause.ts'
import { UsageError } from '../shared/errors.ts'
import { listNamespaces, NAMESPACES } from './list-namespaces.ts'

/** The number of attempts to remove a label that a webhook sets again. */
const TRIES = 10
/** Milliseconds between two attempts. */
const PAUSE_MS = 500

/**
 * Removes the label `ridealong.dev/armed` from all namespaces of a release, and prints one line for
 * each namespace.
 *
 * @param revision undefined for the default release
 * @throws UsageError with the namespaces that still have the label, after an attempt for every
 * namespace
 */
export async function removeLabels(
  apiserver: Apiserver,
  revision: string | undefined,
  print: (line: string) => void,
): Promise<void> {
  const troubles: string[] = []
  for (const name of await labelled(apiserver, revision)) {
    try {
      await removeLabel(apiserver, name)
      print(`Namespace ${name}: label ${ARMED_LABEL} removed`)
    } catch (error) {
      troubles.push(`cannot remove the label of Namespace ${name}: ${describeApiError(error)}`)
    }
  }
  if (troubles.length > 0) throw new UsageError(troubles.join('; '))
}

function labelled(apiserver: Apiserver, revision: string | undefined): Promise<readonly string[]> {
  const ours = revision === undefined ? `!${REVISION_LABEL}` : `${REVISION_LABEL}=${revision}`
  return listNamespaces(apiserver, `${ARMED_LABEL},${ours}`, `to remove the label ${ARMED_LABEL}`)
}

/**
 * Removes the label from a namespace, and retries if the webhook sets the label again in the same
 * request. Apiservers still call the webhook for a short time after its configuration was deleted.
 */
async function removeLabel({ ask }: Apiserver, name: string): Promise<void> {
  const path = `${NAMESPACES}/${encodeURIComponent(name)}`
  const query = { fieldManager: 'ridealong' }
  const patch = { metadata: { labels: { [ARMED_LABEL]: null } } }
  for (let tries = 1; ; tries += 1) {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const { metadata } = await ask({ path, query, patch, signal })
    if (fieldsOrNone(fieldsOrNone(metadata).labels)[ARMED_LABEL] === undefined) return
    if (tries === TRIES) throw new Error('a webhook sets the label again')
    await pause(PAUSE_MS)
  }
}
