/** The row of a process in the metric torch-trace. */
export interface TracedProcess {
  readonly index: number
  readonly worldRank: number | null
  readonly pid: number
  readonly trace: 'complete' | 'incomplete' | 'missing'
  readonly program?: string
}

/**
 * Returns the line that `collect` would write about a process. These rows are inputs, whose values
 * a test chooses; test/tools/torch/trace.test.ts has rows that an observer writes.
 */
export function traceLine({ index, worldRank, pid, trace, program = 'train.py' }: TracedProcess) {
  const isComplete = trace === 'complete'
  return JSON.stringify({
    ...{ kind: 'process', source: `ml/job-${index}/torch-trace`, metric: 'torch-trace' },
    ...{ namespace: 'ml', pod: `job-${index}`, node: 'n', pod_index: String(index) },
    ...{ timepoint: 0, time: '2026-03-01T10:00:00.000Z', seconds: 0, interval: null },
    ...{ section: 'trace', container: 'app', program, pid, world_rank: worldRank, trace },
    file: isComplete ? `trace_${pid}.json` : null,
    bytes: isComplete ? 482_180 : null,
    written: isComplete ? 1_790_857_050.25 : null,
  })
}
