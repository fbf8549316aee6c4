import type { ReflectorPace } from '../../src/cluster/reflect/reflector.ts'

/** Intervals, timeouts and limits. Times are in milliseconds, rates per second. */
export interface Intervals extends ReflectorPace {
  /** The longest time that the review of a pod waits for the look-up of its namespace. */
  readonly lookupMs: number
  /** The time for which a namespace is not looked up again after a look-up. */
  readonly lookupRestMs: number
  /**
   * The time for which a missing namespace is not looked up again, unless it is created earlier.
   */
  readonly absentMs: number
  /**
   * Limits on look-ups of namespaces that are not in the caches: the number at the same time, in a
   * burst, and per second.
   */
  readonly lookupsAtOnce: number
  readonly lookupBurst: number
  readonly lookupsPerSecond: number
  /** The longest pause before a repair of labels, and between two checks of all labels. */
  readonly repairSoonMs: number
  readonly repairMs: number
  readonly repairsPerSecond: number
  /**
   * The time for which a namespace keeps the label `ridealong.dev/moved-from`. A pod whose creation
   * began before the move must be created within this time.
   */
  readonly moveMs: number
  /**
   * The time for which an image counts as available after its DaemonSet is deleted or gets a new
   * template. This time is longer than the two minutes within which every server uses a new
   * catalog.
   */
  readonly orphanMs: number
  /** The longest time between two scans of all pods. */
  readonly scanMs: number
  readonly eventsPerSecond: number
  /** The maximum number of Events that are written in one namespace after one scan. */
  readonly eventsPerNamespace: number
  /**
   * The time after which an Event that is still true is written again. By default, the apiserver
   * deletes an Event after an hour.
   */
  readonly eventMs: number
  /** The time after which any replica may take a Lease that was not renewed. */
  readonly leaseMs: number
  /** The time for which the holder relies on a Lease that it cannot renew; less than `leaseMs`. */
  readonly holdMs: number
  /** The longest time between two attempts to get or renew a Lease. */
  readonly renewMs: number
  /**
   * The longest time between two readings of the webhook's own certificate from its Secret, and
   * while the certificate is missing or being renewed.
   */
  readonly certificateMs: number
  readonly certificateSoonMs: number
  /** The time until every apiserver is assumed to know a new caBundle. */
  readonly settleMs: number
  /** The longest time for which missing images keep a new server from becoming ready. */
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
  moveMs: 10_000,
  orphanMs: 300_000,
  imagesMs: 30_000,
  scanMs: 300_000,
  eventsPerSecond: 10,
  eventsPerNamespace: 50,
  eventMs: 1_800_000,
  leaseMs: 30_000,
  holdMs: 20_000,
  renewMs: 5_000,
  certificateMs: 5_000,
  certificateSoonMs: 1_000,
  settleMs: 10_000,
}
