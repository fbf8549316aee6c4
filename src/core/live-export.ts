import type {
  LiveExport,
  MetricDocument,
  RowColumn,
  RowSection,
  RowsDescription,
} from './catalog.ts'
import { type EnvVar, field, plain } from './kubernetes/environment.ts'

/** The variable that describes the exported rows. */
export const ROWS_VARIABLE = 'RIDEALONG_OTLP_ROWS'

const DEFAULT_INTERVAL = 10

/**
 * Returns the variables that tell an observer where it pushes its rows, and what they mean in
 * OpenTelemetry. Without settings or without a description of the rows, there are none.
 *
 * @param isLeftOut reports whether a column is not exported
 */
export function exportVariables(
  name: string,
  settings: LiveExport | undefined,
  rows: RowsDescription | undefined,
  isLeftOut: (section: RowSection, column: RowColumn) => boolean = () => false,
): readonly EnvVar[] {
  if (settings === undefined || rows === undefined) return []
  const { endpoint, interval = DEFAULT_INTERVAL, granularity = 'pod' } = settings
  const description = describeExport(name, withoutColumns(rows, isLeftOut), granularity)
  return [
    field('POD_UID', 'metadata.uid'),
    plain('RIDEALONG_OTLP_ENDPOINT', endpoint),
    plain('RIDEALONG_OTLP_INTERVAL', String(interval)),
    plain(ROWS_VARIABLE, JSON.stringify(description)),
  ]
}

/**
 * The most characters of the variables, which are ASCII. Linux limits the length of a variable to
 * 128 KiB (execve(2)); an observer with a longer variable could not start.
 */
const MAX_CHARACTERS = 32_768

/** Reports a description of rows that is too long for the environment of an observer. */
export function exportProblem({ metadata, spec }: MetricDocument): string | undefined {
  const variables = exportVariables(metadata.name, spec.otlp, spec.rows)
  const { length } = variables.map(({ value = '' }) => value).join('')
  if (length <= MAX_CHARACTERS) return undefined
  const problem = `it takes ${length} characters, at most ${MAX_CHARACTERS}`
  return `spec.rows has too many columns for the live export: ${problem}`
}

/** Returns a description without the columns that are left out; their keys remain. */
function withoutColumns(
  rows: RowsDescription,
  isLeftOut: (section: RowSection, column: RowColumn) => boolean,
): RowsDescription {
  const kept = (section: RowSection) => ({
    ...section,
    columns: section.columns.filter((column) => !isLeftOut(section, column)),
  })
  const { summary } = rows
  return {
    ...rows,
    sections: rows.sections.map(kept),
    ...(summary && { summary: summary.map(kept) }),
  }
}

/** The rows of a metric as `push` reads them (observer/crates/otlp/src/description.rs). */
function describeExport(name: string, rows: RowsDescription, granularity: 'pod' | 'process') {
  const describe = (section: RowSection) => describeSection(name, section, granularity)
  return {
    metric: name,
    format: rows.format,
    sections: rows.sections.map(describe),
    ...(rows.summary && { summary: rows.summary.map(describe) }),
  }
}

function describeSection(
  metric: string,
  { name, of, columns }: RowSection,
  granularity: 'pod' | 'process',
) {
  const isSummed = granularity === 'pod' && (of === 'process' || of === 'thread')
  const keys = columns.filter(({ type, key, otlp }) => {
    return key === true || (type === 'text' && otlp?.name !== undefined)
  })
  const values = columns.filter(
    ({ behavior, otlp }) => behavior !== undefined && otlp?.exported !== false,
  )
  return {
    name,
    keys: keys.map((column) => describeKey(column, isSummed)),
    values: values.map((column) => describeValue(metric, name, column)),
  }
}

/**
 * The attributes of OpenTelemetry for the keys of rows
 * (https://opentelemetry.io/docs/specs/semconv/registry/attributes/).
 */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  container: 'k8s.container.name',
  program: 'process.executable.name',
  pid: 'process.pid',
  tid: 'thread.id',
  device: 'system.device',
  interface: 'network.interface.name',
}

/**
 * A numeric key, such as a process id, tells apart the members of a group that is summed, unless
 * the description of its column says otherwise.
 */
function describeKey({ name, type, otlp }: RowColumn, isSummed: boolean) {
  const attribute = otlp?.name ?? ATTRIBUTES[name] ?? `ridealong.${name}`
  const isMember = isSummed && (otlp?.summed ?? type === 'number')
  return { column: name, attribute, ...(isMember && { member: true }) }
}

/** The units of columns in UCUM, as OpenTelemetry requires (https://ucum.org). */
const UNITS: Readonly<Record<string, string>> = {
  percent: '%',
  ratio: '1',
  count: '{count}',
  ticks: '{tick}',
  bytes: 'By',
  KiB: 'KiBy',
  MiB: 'MiBy',
  GiB: 'GiBy',
  'bytes/s': 'By/s',
  'KiB/s': 'KiBy/s',
  'MiB/s': 'MiBy/s',
  'MB/s': 'MBy/s',
}

/** Units of values whose sum over processes means nothing. A pod has their mean. */
const MEAN_UNITS: readonly string[] = ['ratio', 'MHz', 'V', 'Cel']

/** Returns the name with which a column of a metric's section is exported. */
export function exportedName(metric: string, section: string, { name, otlp }: RowColumn): string {
  return otlp?.name ?? `ridealong.${metric.replaceAll('-', '_')}.${section}.${name}`
}

function describeValue(metric: string, section: string, column: RowColumn) {
  const { name, unit = 'count', behavior = 'gauge', otlp } = column
  return {
    column: name,
    name: exportedName(metric, section, column),
    unit: otlp?.unit ?? UNITS[unit] ?? unit,
    behavior,
    ...(otlp?.scale !== undefined && { scale: otlp.scale }),
    ...(otlp?.attributes !== undefined && { attributes: otlp.attributes }),
    ...((otlp?.mean === true || MEAN_UNITS.includes(unit)) && { mean: true }),
  }
}
