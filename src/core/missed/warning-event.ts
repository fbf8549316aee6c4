import type { Fields } from '../kubernetes/json.ts'
import type { OwnerReference } from '../kubernetes/owner-reference.ts'

/** The content of an Event of type Warning. */
export interface Warning {
  readonly namespace: string
  readonly regarding: OwnerReference
  /** In CamelCase. */
  readonly reason: string
  /** At most `MAX_MESSAGE_LENGTH` UTF-16 code units. */
  readonly message: string
  readonly count: number
  /** In RFC 3339 format. */
  readonly first: string
  readonly last: string
}

/**
 * The maximum length of a note in events.k8s.io/v1 (NoteLengthLimit). The same API also returns
 * core/v1 Events, with the message as the note.
 */
export const MAX_MESSAGE_LENGTH = 1024

/**
 * Builds an Event. It uses core/v1, because its number can change. In events.k8s.io/v1, only the
 * series of an Event can change after creation (kubernetes pkg/apis/core/validation/events.go).
 */
export function buildWarning(warning: Warning, name: string): Fields {
  const { namespace, regarding, reason, message, count, first, last } = warning
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { ...regarding, namespace },
    type: 'Warning',
    reason,
    message,
    count,
    firstTimestamp: first,
    lastTimestamp: last,
    source: { component: 'ridealong' },
    reportingComponent: 'ridealong',
  }
}
