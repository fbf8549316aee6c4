import { ofProcess, type RunMetric, SHARE } from '../metric.ts'

/** What delays processes and containers, from the kernel. */
export const PRESSURE = {
  name: 'pressure',
  measuresContainers: true,
  topColumns: [
    { ...ofProcess('CPU', 'cpu_time'), ...SHARE },
    { ...ofProcess('WAIT', 'run_delay'), ...SHARE },
    { title: 'THROTTLED', section: 'container', column: 'throttled', total: 'sum', ...SHARE },
    {
      title: 'MEMORY',
      section: 'container',
      column: 'memory_current',
      total: 'sum',
      isFallback: true,
    },
  ],
} as const satisfies RunMetric
