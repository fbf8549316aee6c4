import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../../src/cluster/paths.ts'
import type { Store } from '../../../src/cluster/reflect/store.ts'
import { REVISION_LABEL } from '../../../src/core/keys.ts'
import { asObjects } from '../../../src/core/kubernetes/json.ts'
import { readRevision } from '../../../src/core/namespaces/revision.ts'

/**
 * Says which part of the scan concerns the pods of a namespace. `own`: this release handles the
 * namespace. `abandoned`: no release has the revision of the namespace, and this is the default
 * release, which reports its pods. `other`: another release handles the namespace.
 *
 * @param revision the revision of a namespace
 */
export type Ownership = (revision: string | undefined) => 'own' | 'abandoned' | 'other'

export interface OwnershipOptions {
  readonly api: Apiserver
  readonly namespaces: Store
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  readonly signal: AbortSignal
}

/**
 * Finds out which releases exist, for one scan. The MutatingWebhookConfiguration of a release with
 * a revision has the same label as its namespaces. The default release lists the configurations,
 * but only if a namespace has the label.
 *
 * @throws ApiError or a network error
 */
export async function findOwnership(options: OwnershipOptions): Promise<Ownership> {
  const { revision } = options
  const others = revision === undefined ? await listOthers(options) : undefined
  return (wanted) => {
    if (wanted === revision) return 'own'
    return wanted === undefined || others === undefined || others.has(wanted)
      ? 'other'
      : 'abandoned'
  }
}

async function listOthers({
  api,
  namespaces,
  signal,
}: OwnershipOptions): Promise<ReadonlySet<string>> {
  const all = [...namespaces.namespaces()].flatMap((name) => namespaces.of(name))
  if (all.every(({ object }) => readRevision(object) === undefined)) return new Set()
  const query = { labelSelector: REVISION_LABEL }
  const { items } = await api.ask({ path: WEBHOOK_CONFIGURATIONS, query, signal })
  return new Set(asObjects(items).flatMap((one) => readRevision(one) ?? []))
}
