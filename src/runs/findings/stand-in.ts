/** A section of a metric. */
export interface SectionPlace {
  readonly metric: string
  readonly section: string
}

/**
 * The sections of other metrics whose columns the sections of vitals have, with the same names and
 * meanings. Rules name the sections of the other metrics.
 */
const STAND_INS: readonly (readonly [metric: string, section: string, inVitals: string])[] = [
  ['perf-sysstat', 'process', 'process'],
  ['pressure', 'process', 'process'],
  ['pressure', 'container', 'container'],
  ['pressure', 'placement', 'placement'],
  ['network', 'interface', 'interface'],
  ['network', 'tcp', 'tcp'],
  ['network', 'socket', 'peer'],
  ['network', 'infiniband', 'infiniband'],
]

const VITALS = 'vitals'

/** Returns the section that has the columns of a section if its metric was not collected. */
export function standInFor({ metric, section }: SectionPlace): SectionPlace | undefined {
  const found = STAND_INS.find((one) => one[0] === metric && one[1] === section)
  return found && { metric: VITALS, section: found[2] }
}

/** Returns metrics, with those whose columns are in one of them. */
export function withReplaced(metrics: ReadonlySet<string>): ReadonlySet<string> {
  if (!metrics.has(VITALS)) return metrics
  return new Set([...metrics, ...STAND_INS.map(([metric]) => metric)])
}
