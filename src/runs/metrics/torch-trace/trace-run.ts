import type { MetricStore } from '../../evidence/stores.ts'
import type { Sample } from '../../log/columns.ts'
import { numberIn, textIn } from '../../log/typed-cells.ts'

/** The metric whose rows name the traces of PyTorch's profiler. */
export const TRACE_METRIC = 'torch-trace'
const SECTION = 'trace'

/** The traces of a run. */
export interface TraceRun {
  readonly traces: TorchTrace[]
  /** The number of traces that are left out. */
  omitted: number
}

/** A process that recorded a trace, or was to record one. */
export interface TorchTrace {
  /** The log. */
  readonly source: string
  /** The pod; empty if it is not known. */
  readonly pod: string
  readonly program: string
  readonly pid: number | null
  /** The rank in the default process group; null if it is not known. */
  readonly worldRank: number | null
  /** The outcome: complete, incomplete or missing. */
  readonly trace: string
  /** The name of the raw file; null if the trace is not complete. */
  readonly file: string | null
  /** The size of the file. */
  readonly bytes: number | null
  /** When the file was complete, in seconds since 1970. */
  readonly written: number | null
}

/** The most traces of a run. */
const MAX_TRACES = 10_000

/** Keeps the facts from the rows of torch-trace. */
export const TRACE_STORE: MetricStore<TraceRun> = {
  metric: TRACE_METRIC,
  create: () => ({ traces: [], omitted: 0 }),
  add: addTraceRow,
  keepLogs: (run, isKept) => {
    return { ...run, traces: run.traces.filter(({ source }) => isKept(source)) }
  },
  join: (runs) => ({
    traces: runs.flatMap(({ traces }) => traces),
    omitted: runs.reduce((sum, { omitted }) => sum + omitted, 0),
  }),
  isDetail: (section) => section === SECTION,
}

/** Adds a row of the metric torch-trace. */
function addTraceRow(run: TraceRun, section: string, sample: Sample): void {
  if (section !== SECTION) return
  if (run.traces.length >= MAX_TRACES) {
    run.omitted += 1
    return
  }
  run.traces.push({
    source: sample.source ?? '',
    pod: sample.pod ?? '',
    program: textIn(sample.program) ?? '?',
    pid: numberIn(sample.pid),
    worldRank: numberIn(sample.world_rank),
    trace: textIn(sample.trace) ?? '?',
    file: textIn(sample.file),
    bytes: numberIn(sample.bytes),
    written: numberIn(sample.written),
  })
}
