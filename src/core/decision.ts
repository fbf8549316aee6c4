import type { Fields } from './kubernetes/json.ts'
import { REASONS, type Reason } from './reasons.ts'
import type { Mode, OnError, RequestedMetric } from './request.ts'

/** What becomes of a pod: a value with a reason. */
export type Decision = Injected | Restored | Left | Denied

/** The pod gets observers. */
export interface Injected {
  readonly outcome: 'injected'
  readonly observers: readonly Observer[]
  /** The names of the catalog's observers that the pod had before. */
  readonly present: readonly string[]
  readonly mode: Mode
  /** The container to observe. */
  readonly target: string
  readonly targetCommand: string | undefined
  /** The annotations to write: the status, and for an ordinary container whom kubectl means by default. */
  readonly annotations: Fields
  readonly stripped: Stripped
}

/** The pod has its observers, and gets back what another webhook took away. */
export interface Restored {
  readonly outcome: 'restored'
  readonly stripped: Stripped
}

/** The pod stays as it is. */
export interface Left {
  readonly outcome: 'left'
  readonly reason: Reason
  readonly message: string
}

/** The pod is refused, as its author prefers where the request is wrong or cannot be met. */
export interface Denied {
  readonly outcome: 'denied'
  readonly reason: Reason
  readonly message: string
}

/** A metric that was asked for, with what its container must be in this pod. */
export interface Observer extends RequestedMetric {
  readonly securityContext: Fields
  /** None where the pod has resources of its own. */
  readonly resources: Fields | undefined
}

/**
 * Places in `spec.initContainers` of observers that lost `restartPolicy: Always`: init containers
 * that never end, and hold the application back for ever.
 */
export type Stripped = readonly number[]

/** The pod is left alone, its author's wish or ours. */
export function leave(reason: Reason, message: string = REASONS[reason].sentence): Left {
  return { outcome: 'left', reason, message }
}

/** The request is wrong or cannot be met: its author said what becomes of the pod then. */
export function refuse(onError: OnError, reason: Reason, message?: string): Left | Denied {
  const left = leave(reason, message)
  const isDenied = onError === 'deny' && REASONS[reason].deniable
  return isDenied ? { ...left, outcome: 'denied' } : left
}
