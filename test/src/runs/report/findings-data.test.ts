import t from 'tap'
import { findingsData } from '../../../../src/runs/report/findings-data.ts'
import { findWith } from '../findings/cases.ts'

t.test('the page says which findings others explain', async (t) => {
  const slow = findWith({
    container: { nr_periods: 10, nr_throttled: 5, throttled: 0.3, cpu_usage: 0.3 },
    process: { run_delay: 0.7, cpu_time: 0.3 },
    perf: { percent_cpu: 30 },
  })
  t.match(findingsData(slow, [], []).notes, [
    /^Waiting for a CPU for pod 3: explained by Throttled: the kernel counts the time of .*\.$/,
    /^Not checked for pod 3: More work than the other pods: another finding says/,
  ])
})
