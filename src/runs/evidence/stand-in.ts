/** A section of a metric. */
export interface SectionPlace {
  readonly metric: string
  readonly section: string
}

/** Sections of other metrics whose columns the sections of a metric have. */
interface StandIns {
  /** The metric whose sections have the columns. */
  readonly inMetric: string
  readonly sections: readonly (readonly [metric: string, section: string, inMetric: string])[]
}

/**
 * The sections of metrics whose columns the sections of another metric have, with the same names
 * and meanings. Rules name the sections of the first metrics.
 */
const STAND_INS: readonly StandIns[] = [
  {
    inMetric: 'vitals',
    sections: [
      ['perf-sysstat', 'process', 'process'],
      ['pressure', 'process', 'process'],
      ['pressure', 'container', 'container'],
      ['pressure', 'placement', 'placement'],
      ['network', 'interface', 'interface'],
      ['network', 'tcp', 'tcp'],
      ['network', 'socket', 'peer'],
      ['network', 'infiniband', 'infiniband'],
    ],
  },
  { inMetric: 'gpu-nvidia', sections: [['gpu', 'device', 'device']] },
]

/** Returns the section that has the columns of a section if its metric was not collected. */
export function standInFor({ metric, section }: SectionPlace): SectionPlace | undefined {
  return STAND_INS.flatMap(({ inMetric, sections }) => {
    const found = sections.find((one) => one[0] === metric && one[1] === section)
    return found === undefined ? [] : [{ metric: inMetric, section: found[2] }]
  })[0]
}

/** Returns metrics, with those whose columns are in one of them. */
export function withReplaced(metrics: ReadonlySet<string>): ReadonlySet<string> {
  const replaced = STAND_INS.filter(({ inMetric }) => metrics.has(inMetric))
  return new Set([
    ...metrics,
    ...replaced.flatMap(({ sections }) => sections.map(([metric]) => metric)),
  ])
}
