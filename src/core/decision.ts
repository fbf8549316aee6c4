import type { Fields } from './kubernetes/json.ts'
import type { ContainerRestarts } from './kubernetes/restart-policy.ts'
import { REASONS, type Reason } from './reasons.ts'
import type { Mode, OnError, RequestedMetric } from './request.ts'
import type { CounterPrediction } from './rules/counters.ts'
import type { LeftMetric } from './rules/left-metric.ts'
import type { UnselectedMetric } from './rules/pod-selection.ts'
import type { Forwarding } from './tools/forwarding.ts'

/** The decision about a pod. */
export type Decision = Injected | Restored | Left | Denied

/** The pod gets observers. */
export interface Injected {
  readonly outcome: 'injected'
  readonly observers: readonly Observer[]
  /** The requested metrics that apply only to other pods. */
  readonly others: readonly UnselectedMetric[]
  /** The requested metrics that the pod does not get, with the reasons. */
  readonly left: readonly LeftMetric[]
  /** The names of the catalog's observers that the pod already has. */
  readonly present: readonly string[]
  readonly mode: Mode
  /** The name of the container to observe. */
  readonly target: string
  /** The restart policy of the target: its own, or else that of the pod. */
  readonly targetRestarts: ContainerRestarts
  readonly targetCommand: string | undefined
  readonly forwarding: Forwarding
  /** The counters that the observers can read, and the obstacle if some counters may be hidden. */
  readonly counters: CounterPrediction
  /**
   * The annotations to write: the status and, in mode `container`, kubectl's default container
   * unless the pod already sets one.
   */
  readonly annotations: Fields
  readonly stripped: Stripped
}

/** The pod already has its observers. Fields that another webhook removed or reset are restored. */
export interface Restored {
  readonly outcome: 'restored'
  readonly stripped: Stripped
}

/** The pod is admitted without new observers. At most a status annotation is added. */
export interface Left {
  readonly outcome: 'left'
  readonly reason: Reason
  readonly message: string
}

/** The pod is denied: its request is wrong or cannot be met, and `on-error` is `deny`. */
export interface Denied {
  readonly outcome: 'denied'
  readonly reason: Reason
  readonly message: string
}

/** A requested metric, and the fields of its container that depend on the pod. */
export interface Observer extends RequestedMetric {
  readonly securityContext: Fields
  /** Undefined if the pod sets pod-level resources. */
  readonly resources: Fields | undefined
  /**
   * The init container of the metric's tool. Undefined if the metric has no tool, if the tool is
   * mounted from its image, or if the installer of an earlier observer also installs this tool.
   */
  readonly installer: Installer | undefined
}

/** The fields of an init container that depend on the pod and on the tools that it installs. */
export interface Installer extends Pick<Observer, 'securityContext' | 'resources'> {
  /** The limits of the catalog: of each resource, the greatest of the tools. */
  readonly limits: Fields
}

/**
 * The indexes in `spec.initContainers` of observers that lost `restartPolicy: Always`. Such an init
 * container never exits, so the application would never start.
 */
export type Stripped = readonly number[]

/** Returns the requested metrics that an injected pod does not get; none for other decisions. */
export function leftIn(decision: Decision): readonly LeftMetric[] {
  return decision.outcome === 'injected' ? decision.left : []
}

/** Returns the decision to admit a pod without new observers. */
export function leave(reason: Reason, message: string = REASONS[reason].sentence): Left {
  return { outcome: 'left', reason, message }
}

/**
 * Returns the decision for a request that is wrong or cannot be met. The pod is denied if the
 * request has `on-error: deny` and the reason permits a denial. Otherwise the pod is admitted
 * without new observers.
 */
export function leaveOrDeny(onError: OnError, reason: Reason, message?: string): Left | Denied {
  const left = leave(reason, message)
  const isDenied = onError === 'deny' && REASONS[reason].canDeny
  return isDenied ? { ...left, outcome: 'denied' } : left
}
