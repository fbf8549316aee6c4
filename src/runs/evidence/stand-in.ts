/** A section of a metric. */
export interface SectionPlace {
  readonly metric: string
  readonly section: string
}

/** A section whose columns, with the same names and meanings, a section of another metric has. */
export interface StandIn extends SectionPlace {
  readonly by: SectionPlace
}

/** Returns the section that has the columns of a section if its metric was not collected. */
export function standInFor(
  standIns: readonly StandIn[],
  { metric, section }: SectionPlace,
): SectionPlace | undefined {
  return standIns.find((one) => one.metric === metric && one.section === section)?.by
}

/** Returns metrics, with those whose columns are in one of them. */
export function withReplaced(
  standIns: readonly StandIn[],
  metrics: ReadonlySet<string>,
): ReadonlySet<string> {
  const replaced = standIns.filter(({ by }) => metrics.has(by.metric))
  return new Set([...metrics, ...replaced.map(({ metric }) => metric)])
}
