import { type Stores, storeOf } from '../../evidence/stores.ts'
import type { MetricReport } from '../page-part.ts'
import { type TorchTrace, TRACE_STORE } from './trace-run.ts'

/** A trace, and its pod. */
interface TraceOfPod extends Omit<TorchTrace, 'source' | 'pod'> {
  readonly pod: string
  /** The path of the file below the folder of `collect --output artifacts`; null without a file. */
  readonly path: string | null
}

const COLUMNS = [
  { title: 'PyTorch rank' },
  { title: 'Program' },
  { title: 'Process id' },
  { title: 'Trace' },
  { title: 'Size', unit: 'bytes' },
  { title: 'File' },
]

/** How to look at a trace. The page itself sends nothing. */
const NOTE = [
  'The files are in the logs: ',
  { code: 'ridealong collect WORKLOAD --output artifacts --to FOLDER' },
  ' writes them. Open ',
  { link: 'https://ui.perfetto.dev' },
  ', and choose a file with “Open trace file”. It is shown in the browser, and not uploaded.',
]

/** Returns the traces by pod; undefined if there are none. */
export function reportTraces(
  stores: Stores,
  podOf: (source: string) => string,
): MetricReport | undefined {
  const { traces: all, omitted } = storeOf(stores, TRACE_STORE)
  if (all.length === 0) return undefined
  const traces = all.map((trace) => traceOfPod(trace, podOf)).toSorted(compareTraces)
  const whole = traces.filter(({ trace }) => trace === 'complete').length
  const part = {
    id: 'traces',
    title: 'Traces of PyTorch',
    facts: counted(whole),
    note: NOTE,
    columns: COLUMNS,
    rows: traces.map(({ pod, worldRank, program, pid, trace, bytes, path }) => {
      return { pod, cells: [worldRank, program, pid, trace, bytes, path] }
    }),
    left: omitted === 0 ? '' : `${counted(omitted)} did not fit into the page.`,
  }
  const document = traces.map(({ pod, ...trace }) => ({ podIndex: pod, ...trace }))
  return { part, document: { traces: document, omitted_traces: omitted } }
}

function traceOfPod(
  { source, pod, ...trace }: TorchTrace,
  podOf: (source: string) => string,
): TraceOfPod {
  const path = trace.file === null ? null : `${pod}/torch-trace/${trace.file}`
  return { pod: podOf(source), ...trace, path }
}

function counted(traces: number): string {
  return `${traces.toLocaleString('en')} trace${traces === 1 ? '' : 's'}`
}

const natural = new Intl.Collator('en', { numeric: true }).compare

function compareTraces(one: TraceOfPod, other: TraceOfPod): number {
  const [first, second] = [one, other].map(({ worldRank }) => worldRank ?? Number.MAX_SAFE_INTEGER)
  return natural(one.pod, other.pod) || (first ?? 0) - (second ?? 0)
}
