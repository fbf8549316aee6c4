import { pod } from '../../src/runs/collect/pod.ts'
import { type GrowingLog, growingLog } from '../../stand-ins/growing-log.ts'

/** The beginning of an observer's log. */
const head = (
  metric: string,
) => `METADATA START {"metricName":"${metric}","metricOptions":{"rate":1}}
METADATA END
METRICS OPERATOR COLLECTION START
`

/** A process in a timepoint of perf-sysstat. */
export interface ProcessShape {
  readonly pid?: number
  readonly program?: string
  readonly cpu: number | null
  readonly rss?: number
}

/** Returns a timepoint of perf-sysstat, in the format of test/logs/perf-sysstat-ridealong.log. */
export function timepoint(processes: readonly ProcessShape[]): string {
  const rows = (cellsOf: (one: ProcessShape) => object) =>
    JSON.stringify(
      processes.map((shape) => ({
        time: 161344,
        uid: 0,
        pid: shape.pid ?? 7,
        ...cellsOf(shape),
        command: shape.program ?? 'lmp',
        container: 'app',
        program: shape.program ?? 'lmp',
      })),
    )
  return [
    'METRICS OPERATOR TIMEPOINT',
    'CPU STATISTICS TASK',
    rows(({ cpu }) => ({ percent_cpu: cpu })),
    'PAGEFAULTS TASK',
    rows(({ rss = 1024 }) => ({ rss })),
    '',
  ].join('\n')
}

/**
 * Returns the rows of pressure at a second since the latest run was created. Until then, a process
 * has waited for a CPU, and its container was throttled, for these numbers of seconds.
 */
export function pressureRows(second: number, waited: number, throttled: number): string {
  const time = new Date(start + second * 1000).toISOString()
  const rows = [
    { time, section: 'container', container: 'app', throttled },
    { time, section: 'process', container: 'app', program: 'lmp', pid: 7, run_delay: waited },
  ]
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

/** When the latest run was created. Tests of one process run one after the other. */
let start = Date.now()

/** A run of pods. A test appends text to their logs. */
export interface RunOfPods {
  /** The pods. A test can add, change and remove pods. */
  readonly pods: object[]
  /** The logs by POD/CONTAINER. */
  readonly logs: Record<string, GrowingLog['answer']>
  readonly perf: readonly GrowingLog[]
  readonly pressure: readonly GrowingLog[]
  /** Adds a running pod with the next pod. */
  readonly add: () => void
}

export const RUNNING = { phase: 'Running', state: { running: {} } } as const

/** Creates a run of pods that run, with the observers of perf-sysstat and pressure. */
export function runOfPods(count: number): RunOfPods {
  start = Date.now()
  const run = {
    pods: [] as object[],
    logs: {} as Record<string, GrowingLog['answer']>,
    perf: [] as GrowingLog[],
    pressure: [] as GrowingLog[],
  }
  const add = () => {
    const index = run.pods.length
    run.pods.push(pod({ index, metrics: ['perf-sysstat', 'pressure'], ...RUNNING }))
    const [perf, pressure] = [growingLog(head('perf-sysstat')), growingLog(head('pressure'))]
    run.perf.push(perf)
    run.pressure.push(pressure)
    run.logs[`lammps-${index}-abcde/perf-sysstat`] = perf.answer
    run.logs[`lammps-${index}-abcde/pressure`] = pressure.answer
  }
  for (let index = 0; index < count; index += 1) add()
  return { ...run, add }
}
