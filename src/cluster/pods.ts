import type { Fields } from '../core/kubernetes/json.ts'
import type { Apiserver } from './apiserver.ts'
import { getFields, listObjects } from './list.ts'

/**
 * The pods to select: the pod with a name, all pods that match a label selector, or all pods of the
 * namespace.
 */
export type PodSelection =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'labels'; readonly selector: string }
  | { readonly by: 'namespace' }

/**
 * Lists the selected pods of a namespace, page by page.
 *
 * @param read reads the pods of a page. Only its results are kept, because whole pods need much
 * memory
 * @throws ApiError (404 if no pod has the name), or a network error
 */
export async function listPods<Result>(
  apiserver: Apiserver,
  namespace: string,
  chosen: PodSelection,
  read: (pods: readonly Fields[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  if (chosen.by === 'name')
    return read([await getFields(apiserver, { path: `${path}/${chosen.name}` })])
  const query = chosen.by === 'labels' ? { labelSelector: chosen.selector } : {}
  return listObjects(apiserver, { path, query }, read)
}
