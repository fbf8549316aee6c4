import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** A stack of a process. */
export interface ProfiledStack {
  readonly pod?: string
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
  for (const { pod = '0', program = 'lmp', pid = 1, stack, seconds } of stacks)
    addStackRow(run, 'cpu-profile', pod, {
      ...{ program, pid, stack, samples: seconds * 100, cpu_seconds: seconds },
    })
  return run
}

/** A stack of the threads of a process of Python. */
export interface PythonStack {
  readonly threads: 'main' | 'other'
  readonly stack: string
  readonly wall: number
  /** Null if running and waiting are not told apart. */
  readonly running: number | null
}

/** Returns a run with rows about stacks of Python, as `collect` would write them. */
export function pythonRows(stacks: readonly PythonStack[]): CollectedRun {
  const run = newRun(BUILT_IN_ROWS)
  for (const { wall, ...row } of stacks)
    addStackRow(run, 'python-profile', '0', {
      ...{ program: 'train', pid: 1, samples: wall * 100, wall, ...row },
    })
  return run
}

function addStackRow(run: CollectedRun, metric: string, pod: string, columns: object) {
  const line = JSON.stringify({
    ...{ kind: 'stack', source: `hpc/job-${pod}/${metric}`, metric },
    ...{
      namespace: 'hpc',
      pod: `job-${pod}`,
      node: 'n',
      pod_index: pod,
      section: 'stack',
      timepoint: 0,
    },
    ...{ time: '2026-03-01T10:00:00.000Z', seconds: 0, interval: null, container: 'app' },
    ...columns,
  })
  const entry = parseEntry(line, BUILT_IN_ROWS)
  if (entry === undefined) throw new Error(`not a row: ${line}`)
  addEntry(run, entry)
}
