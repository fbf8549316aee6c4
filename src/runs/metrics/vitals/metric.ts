import { ofProcess, type RunMetric, SHARE } from '../metric.ts'
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
  measuresContainers: true,
  topColumns: [
    ofProcess('CPU', 'percent_cpu'),
    { ...ofProcess('WAIT', 'run_delay'), ...SHARE },
    { title: 'THROTTLED', section: 'container', column: 'throttled', total: 'sum', ...SHARE },
    ofProcess('MEMORY', 'rss'),
    ofProcess('READ', 'kb_rd_s'),
    ofProcess('WRITTEN', 'kb_wr_s'),
    { title: 'SENT', section: 'peer', column: 'bytes_sent', total: 'sum' },
    { title: 'RECEIVED', section: 'peer', column: 'bytes_received', total: 'sum' },
  ],
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
