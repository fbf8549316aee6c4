import { asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import type { Apiserver } from './apiserver.ts'
import { pathOfResource } from './discovery.ts'

/**
 * Creates an Event, or replaces its fields. Fields that another manager has set are overwritten:
 * only Ridealong owns its Events.
 *
 * @throws ApiError, or a network error
 */
export async function applyEvent(
  api: Apiserver,
  event: Fields,
  { fieldManager, signal }: { readonly fieldManager: string; readonly signal: AbortSignal },
): Promise<void> {
  const { namespace, name } = fieldsOrNone(event.metadata)
  const events = pathOfResource({
    apiVersion: 'v1',
    namespace: asText(namespace),
    plural: 'events',
  })
  const query = { fieldManager, force: 'true' } as const
  await api.ask({ path: `${events}/${asText(name)}`, query, apply: event, signal })
}
