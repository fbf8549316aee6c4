/** How long and how many objects Run are kept. */
export interface Retention {
  /** Milliseconds since the end of a run. */
  readonly maxAgeMs: number
  /** The most runs of a namespace. */
  readonly maxRuns: number
}

/** What retention needs to know of a run. */
export interface AgingRun {
  readonly namespace: string
  readonly name: string
  /**
   * When it ended, but not before its object was created, in milliseconds since 1970; undefined
   * while it goes on.
   */
  readonly ended: number | undefined
}

/**
 * Selects the ended runs that are not kept: those that ended too long ago, and of each namespace
 * with too many runs, those that ended first. Runs that go on are always kept, and count.
 *
 * @param now in milliseconds since 1970; undefined if no run is too old, because it is not known
 */
export function selectExpired<Aging extends AgingRun>(
  runs: readonly Aging[],
  { maxAgeMs, maxRuns }: Retention,
  now: number | undefined,
): readonly Aging[] {
  const byNamespace = Map.groupBy(runs, ({ namespace }) => namespace)
  return [...byNamespace.values()].flatMap((own) => {
    const ended = own
      .filter((run) => run.ended !== undefined)
      .sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0))
    const surplus = Math.max(own.length - maxRuns, 0)
    const isOld = ({ ended = 0 }: Aging) => now !== undefined && now - ended > maxAgeMs
    return ended.filter((run, index) => index < surplus || isOld(run))
  })
}
