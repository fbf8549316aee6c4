import { readNamespaceFile } from '../../webhook/namespaces.ts'
import { loadCatalog } from '../catalog/load.ts'
import { answerPod, type PodAnswer } from '../core/answer.ts'
import { readNamespace } from '../core/namespace.ts'
import type { Review } from '../core/review.ts'
import { usageError } from './errors.ts'

/** The options of a verb that answers as the webhook would: what is offered, and where. */
export interface SettingOptions {
  readonly catalog?: string | undefined
  readonly observerImage?: string | undefined
  readonly namespaces?: string | undefined
  readonly excludeNamespace?: readonly string[] | undefined
}

/** Where observers never ride, whatever anybody annotates. */
export const EXCLUDED_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease']

/**
 * Makes a function that answers recorded reviews as the webhook would.
 *
 * @throws UsageError naming the catalog document or the file of Namespaces that does not hold
 */
export async function answererOf(options: SettingOptions): Promise<(review: Review) => PodAnswer> {
  const { catalog: folder, observerImage, namespaces: path } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const namespaces =
    path === undefined ? undefined : await readNamespaceFile(path).catch(usageError)
  const excludedNamespaces = new Set(options.excludeNamespace ?? EXCLUDED_NAMESPACES)
  return (review) => {
    const name = review.namespace
    const namespace = namespaces?.find(name) ?? readNamespace(name, undefined)
    return answerPod(review, { catalog, namespace, excludedNamespaces })
  }
}
