import { ofProcess, type RunMetric } from '../metric.ts'

/** The values of pidstat of each process. */
export const PERF_SYSSTAT = {
  name: 'perf-sysstat',
  measuresContainers: true,
  topColumns: [
    ofProcess('CPU', 'percent_cpu'),
    { ...ofProcess('WAIT', 'percent_wait'), isFallback: true },
    ofProcess('MEMORY', 'rss'),
    ofProcess('READ', 'kb_rd_s'),
    ofProcess('WRITTEN', 'kb_wr_s'),
  ],
} as const satisfies RunMetric
