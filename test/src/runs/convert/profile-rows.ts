import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** A stack of a process. */
export interface ProfiledStack {
  readonly rank?: string
  readonly program?: string
  readonly pid?: number
  readonly stack: string
  readonly seconds: number
}

/**
 * Returns a run with rows about stacks, as `collect` would write them of the metric cpu-profile.
 * These rows are inputs, which a test chooses; no observer wrote them.
 */
export function profileRows(stacks: readonly ProfiledStack[]): CollectedRun {
  const run = newRun(BUILT_IN_ROWS)
  for (const { rank = '0', program = 'lmp', pid = 1, stack, seconds } of stacks) {
    const line = JSON.stringify({
      ...{ kind: 'stack', source: `hpc/job-${rank}/cpu-profile`, metric: 'cpu-profile' },
      ...{ namespace: 'hpc', pod: `job-${rank}`, node: 'n', rank, section: 'stack', timepoint: 0 },
      ...{ time: '2026-03-01T10:00:00.000Z', seconds: 0, interval: null, container: 'app' },
      ...{ program, pid, stack, samples: seconds * 100, cpu_seconds: seconds },
    })
    const entry = parseEntry(line, BUILT_IN_ROWS)
    if (entry === undefined) throw new Error(`not a row: ${line}`)
    addEntry(run, entry)
  }
  return run
}
