/** A row of cpu-profile about a function or a stack: its name, and its seconds. */
export interface ProfileRows {
  readonly functions?: Readonly<Record<string, number>>
  readonly stacks?: Readonly<Record<string, number>>
  /** The column `profile` of the process. */
  readonly profile?: string
  readonly program?: string
  readonly pid?: number
}

/**
 * Returns the lines that `collect` would write about one process. A row has 100 samples for each
 * second. These rows are inputs, whose numbers a test chooses; no observer wrote them.
 */
export function profileLines(pod: string, rows: ProfileRows): readonly string[] {
  const { functions = {}, stacks = {}, profile = 'complete', program = 'lmp', pid = 100 } = rows
  const place = {
    source: `hpc/job-${pod}/cpu-profile`,
    metric: 'cpu-profile',
    ...{ namespace: 'hpc', pod: `job-${pod}`, node: 'n', pod_index: pod },
    ...{ timepoint: 0, time: '2026-03-01T10:00:00.000Z', seconds: 0, interval: null },
    ...{ container: 'app', program, pid },
  }
  const row = (kind: string, cells: object) =>
    JSON.stringify({ kind, ...place, section: kind, ...cells })
  const all = Object.values(stacks).reduce((sum, own) => sum + own, 0)
  const whole = { samples: all * 100, cpu_seconds: all, frequency: 100, profile }
  return [
    row('process', whole),
    ...Object.entries(functions).map(([name, seconds]) =>
      row('function', {
        ...{ function: name, library: 'lib.so', samples_self: seconds * 100 },
        ...{ samples_total: seconds * 100, self_seconds: seconds, total_seconds: seconds },
      }),
    ),
    ...Object.entries(stacks).map(([stack, seconds]) =>
      row('stack', { stack, samples: seconds * 100, cpu_seconds: seconds }),
    ),
  ]
}
