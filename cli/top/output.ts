import { stringify } from 'csv-stringify/sync'
import { printable, printableJson } from '../../src/core/text/printable.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { withoutNoise } from '../../src/lib/round.ts'
import { efficiencyDocument } from '../../src/runs/report/document/efficiency-document.ts'
import { timeDocument } from '../../src/runs/time/time-document.ts'
import type { TopColumn } from '../../src/runs/top/columns.ts'
import { type Assessment, alarmsIn, factorsIn } from '../../src/runs/top/findings/assessment.ts'
import type { TopLine } from '../../src/runs/top/pods.ts'
import { buildTable, formatTable } from '../../src/runs/top/table.ts'
import type { ShownTime } from './time-so-far.ts'
import type { TopFormat, TopOptions } from './top-options.ts'

/** What the output contains. */
export interface TopContent {
  readonly lines: readonly TopLine[]
  readonly columns: readonly TopColumn[]
  readonly by: TopOptions['by']
  /** Where the time of the run went; undefined if it is not known. */
  readonly time: ShownTime | undefined
  readonly assessment: Assessment
}

/** Formats the table for a script, with how the run goes. */
export function formatTop(content: TopContent, format: TopFormat): Output {
  const { lines, columns, by } = content
  if (format === 'table') {
    const head = headLines(content)
    const table = formatTable(buildTable(lines, columns, by))
    return { lines: [...head, ...(head.length === 0 ? [] : ['']), ...table] }
  }
  const records = lines.map((line) => recordOf(line, content))
  if (format === 'csv') return { document: formatCsv(records, columns, by) }
  return { document: `${printableJson({ ...documentOf(content), lines: records }, 2)}\n` }
}

/** Returns the sentences above the table: what makes no progress, and how the run goes. */
function headLines({ time, assessment }: TopContent): readonly string[] {
  const { verdict } = assessment
  const factors = factorsIn(assessment)
  const sentences = alarmsIn(assessment)
  const goes = verdict === undefined ? [] : [verdict]
  const went = time === undefined ? [] : [time.sentence]
  const parts = verdict === undefined ? [] : factors
  return [...sentences, ...goes, ...went, ...parts].map((text) => printable(text))
}

/** Returns the parts of the JSON about the whole run; its lines have the pods. */
function documentOf({ time: went, assessment }: TopContent) {
  const { verdict, efficiency } = assessment
  const time = went === undefined ? null : timeOf(went)
  if (efficiency === undefined) return { ...KIND, verdict: null, time, efficiency: null }
  const { processes, pods, omitted, ...factors } = efficiencyDocument(efficiency)
  return { ...KIND, verdict, time, efficiency: factors }
}

/** Returns where the time went, with the fields of the report. */
function timeOf({ sentence, isOver, time }: ShownTime) {
  return { sentence, isOver, ...timeDocument(time) }
}

const KIND = { apiVersion: 'ridealong.dev/v1alpha1', kind: 'Top' }

/** A line of the table in JSON. The values have the units of the described columns. */
interface LineRecord {
  readonly pod_index: string
  readonly namespace: string
  readonly pod: string
  readonly node: string | null
  readonly program?: string | null
  readonly state: string
  /** Whole seconds without rows; null unless the state is `silent`. */
  readonly silent_seconds: number | null
  /** Sentences about processes of the pod that make no progress; null if there are none. */
  readonly no_progress: string | null
  /** The names of the findings about the pod, the worst first. */
  readonly findings: readonly string[]
  readonly values: Readonly<Record<string, number | null>>
}

function recordOf(
  { label, namespace, pod, node, program, state, findings, values }: TopLine,
  { columns, by, assessment: { stuck } }: TopContent,
): LineRecord {
  const own = stuck.filter(({ pods }) => pods.has(`${namespace}/${pod}`))
  return {
    pod_index: label,
    namespace,
    pod,
    node,
    ...(by === 'program' ? { program } : {}),
    state: state.is,
    silent_seconds: state.is === 'silent' ? Math.floor(state.ms / 1000) : null,
    no_progress: own.length === 0 ? null : own.map(({ sentence }) => sentence).join(' '),
    findings,
    values: Object.fromEntries(
      columns.map(({ key }, index) => [key, withoutNoise(values[index] ?? null)]),
    ),
  }
}

const PLACES = ['pod_index', 'namespace', 'pod', 'node']
const STATES = ['state', 'silent_seconds', 'no_progress', 'findings']
const keyOf = ({ key }: TopColumn) => key

/** Formats the lines as CSV; an apostrophe precedes text that is a formula in a spreadsheet. */
function formatCsv(
  records: readonly LineRecord[],
  columns: readonly TopColumn[],
  by: TopOptions['by'],
): string {
  const flat = records.map(({ values, findings, ...facts }) => {
    return { ...facts, findings: findings.join(' '), ...values }
  })
  return stringify(flat, {
    header: true,
    columns: [
      ...PLACES,
      ...(by === 'program' ? ['program'] : []),
      ...STATES,
      ...columns.map(keyOf),
    ],
    escape_formulas: true,
    cast: { string: (text) => printable(text) },
  })
}
