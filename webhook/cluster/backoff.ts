/** How often and how long, in milliseconds; per second where it says so. */
export interface Intervals {
  /** The longest until everything is listed anew, which repairs what a watch has missed. */
  readonly relistMs: number
  /** A watch that says nothing for so long has stalled: an idle one has a bookmark every minute. */
  readonly silenceMs: number
  /** The longest for one page of a list, or one PATCH. */
  readonly answerMs: number
  /** The first pause after a failure, and the longest: each is twice the one before. */
  readonly pauseMs: number
  readonly longestPauseMs: number
  /** What a pod waits at most for the namespace that the caches do not know as asking. */
  readonly lookupMs: number
  /** A namespace that was just looked up is not looked up again for so long. */
  readonly lookupRestMs: number
  /** A namespace that does not exist is not looked up again for so long, unless it is created. */
  readonly absentMs: number
  /** Look-ups of namespaces that the caches do not know: at the same time, at most in a row, and on average. */
  readonly lookupsAtOnce: number
  readonly lookupBurst: number
  readonly lookupsPerSecond: number
  /** The longest until a wrong label is repaired, and until all labels are looked at again. */
  readonly repairSoonMs: number
  readonly repairMs: number
  readonly repairsPerSecond: number
  /**
   * Nodes are known to hold an image for so long after its DaemonSet is gone. A new catalog reaches every server
   * in less: two minutes.
   */
  readonly orphanMs: number
  /** The longest until all pods are looked at again. */
  readonly scanMs: number
  readonly eventsPerSecond: number
  /** The most Events that are written in one namespace after one look. */
  readonly eventsPerNamespace: number
  /** An Event that still holds is written again after so long: an apiserver forgets it after an hour. */
  readonly eventMs: number
  /** A Lease that nobody renews for so long is anybody's, and its holder believes in it for less. */
  readonly leaseMs: number
  readonly holdMs: number
  /** Between two calls about a Lease. */
  readonly renewMs: number
  /** A server that starts waits so long at most, until nodes hold the images of its catalog. */
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

/** Between the half and the whole: replicas that started together must not stay together. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2)
}
