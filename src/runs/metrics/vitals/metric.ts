import type { RunMetric } from '../metric.ts'
import { NETWORK } from '../network/metric.ts'
import { PERF_SYSSTAT } from '../perf-sysstat/metric.ts'
import { PRESSURE } from '../pressure/metric.ts'

const NAME = 'vitals'

/** @param inSection the section of vitals that has the columns */
const standIn = (metric: string, section: string, inSection = section) => {
  return { metric, section, by: { metric: NAME, section: inSection } }
}

/** The most important values of processes, containers and the network, at little cost. */
export const VITALS = {
  name: NAME,
  standsFor: [
    standIn(PERF_SYSSTAT.name, 'process'),
    standIn(PRESSURE.name, 'process'),
    standIn(PRESSURE.name, 'container'),
    standIn(PRESSURE.name, 'placement'),
    standIn(NETWORK.name, 'interface'),
    standIn(NETWORK.name, 'tcp'),
    standIn(NETWORK.name, 'socket', 'peer'),
    standIn(NETWORK.name, 'infiniband'),
  ],
} as const satisfies RunMetric
