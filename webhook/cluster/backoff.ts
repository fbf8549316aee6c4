/** Intervals, timeouts and limits. Times are in milliseconds, rates per second. */
export interface Intervals {
  /**
   * The longest time until a resource is listed again, which repairs anything that a watch has
   * missed.
   */
  readonly relistMs: number
  /**
   * A watch without events for this long has stalled: an idle watch gets a bookmark every minute.
   */
  readonly silenceMs: number
  /** The timeout for one page of a list, or one PATCH. */
  readonly answerMs: number
  /** The first and the longest pause after failures; each pause is twice the one before. */
  readonly pauseMs: number
  readonly longestPauseMs: number
  /**
   * The longest time that a pod waits for a namespace that does not request metrics in the caches.
   */
  readonly lookupMs: number
  /** The time for which a namespace is not looked up again after a look-up. */
  readonly lookupRestMs: number
  /**
   * The time for which a namespace that does not exist is not looked up again, unless it is
   * created.
   */
  readonly absentMs: number
  /**
   * Limits for look-ups of namespaces that are not in the caches: concurrent, in a burst, and on
   * average.
   */
  readonly lookupsAtOnce: number
  readonly lookupBurst: number
  readonly lookupsPerSecond: number
  /** The longest time until a wrong label is repaired, and until all labels are checked again. */
  readonly repairSoonMs: number
  readonly repairMs: number
  readonly repairsPerSecond: number
  /**
   * The time for which an image counts as available after its DaemonSet is deleted. A new catalog
   * reaches every server in less time: two minutes.
   */
  readonly orphanMs: number
  /** The longest time between two scans of all pods. */
  readonly scanMs: number
  readonly eventsPerSecond: number
  /** The most Events that are written in one namespace after one scan. */
  readonly eventsPerNamespace: number
  /**
   * The time after which an Event that is still true is written again: an apiserver deletes Events
   * after an hour.
   */
  readonly eventMs: number
  /**
   * The duration after which a Lease that is not renewed may be taken by any replica, and the
   * shorter time for which its holder relies on it.
   */
  readonly leaseMs: number
  readonly holdMs: number
  /** The longest time between two attempts to get or renew a Lease. */
  readonly renewMs: number
  /** The time for which a new server is not ready because no node has the images of its catalog. */
  readonly imagesMs: number
}

export const INTERVALS: Intervals = {
  relistMs: 600_000,
  silenceMs: 90_000,
  answerMs: 30_000,
  pauseMs: 500,
  longestPauseMs: 15_000,
  lookupMs: 200,
  lookupRestMs: 1000,
  absentMs: 5000,
  lookupsAtOnce: 8,
  lookupBurst: 20,
  lookupsPerSecond: 10,
  repairSoonMs: 500,
  repairMs: 300_000,
  repairsPerSecond: 10,
  orphanMs: 300_000,
  imagesMs: 30_000,
  scanMs: 300_000,
  eventsPerSecond: 10,
  eventsPerNamespace: 50,
  eventMs: 1_800_000,
  leaseMs: 30_000,
  holdMs: 20_000,
  renewMs: 5_000,
}

/**
 * Returns a random time between half of `ms` and `ms`: replicas that started together must not keep
 * acting at the same time.
 */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2)
}
