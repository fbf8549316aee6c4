import { Help } from 'commander'
import { loadCatalog } from '../../catalog/load.ts'
import type { Metric } from '../../core/catalog.ts'
import { printable, printableJson } from '../../core/text/printable.ts'
import type { Output } from '../../lib/output-format.ts'
import { cleanYaml } from '../../manifest/print.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import type { SettingOptions } from '../shared/settings.ts'

export interface MetricsOptions extends SettingOptions {
  readonly output: 'table' | 'yaml' | 'json'
}

/**
 * Runs `ridealong metrics [NAME]`: prints the catalog, or one metric with its options.
 *
 * @throws UsageError if no metric has the name, or a document of the catalog is invalid
 */
export async function metrics(name: string | undefined, options: MetricsOptions): Promise<Output> {
  const { catalog: folder, observerImage, output } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const all = [...catalog.metrics.values()]
  const chosen = name === undefined ? all : all.filter((metric) => metric.name === name)
  if (chosen.length === 0) {
    const known = all.map((metric) => metric.name).join(', ')
    throw new UsageError(`the catalog has no metric ${name}; its metrics are ${known}`)
  }
  if (output === 'json') return { document: `${printableJson(chosen.map(toPlain), 2)}\n` }
  if (output === 'yaml')
    return { document: chosen.map((metric) => `---\n${cleanYaml(toPlain(metric))}`).join('') }
  return { lines: name === undefined ? formatTable(chosen) : chosen.flatMap(formatMetric) }
}

/** Converts a metric to a document of a catalog. */
function toPlain({ name, description, privilege, options, container }: Metric) {
  const documents = [...options].map(([key, { variable: _, ...option }]) => {
    return [key.slice(key.indexOf('/') + 1), option]
  })
  return {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name },
    spec: { description, privilege, options: Object.fromEntries(documents), container },
  }
}

/** The width in columns to which the text is wrapped. */
const WIDTH = 80

/** Formats one row for each metric; a long description continues in its column. */
function formatTable(metrics: readonly Metric[]): readonly string[] {
  const width = Math.max('METRIC'.length, ...metrics.map(({ name }) => name.length))
  const head = (name: string, privilege: string) =>
    `${name.padEnd(width)}  ${privilege.padEnd(10)}  `
  const rows = metrics.flatMap(({ name, privilege, description }) => {
    const [first = '', ...more] = wrap(description, head('', ''))
    return [head(name, privilege) + first.trimStart(), ...more]
  })
  return [`${head('METRIC', 'PRIVILEGE')}DESCRIPTION`, ...rows]
}

/** Breaks a text, which may come from a user's catalog, into lines that begin with an indent. */
function wrap(text: string, indent: string): readonly string[] {
  const lines = new Help().boxWrap(printable(text), WIDTH - indent.length).split('\n')
  return lines.map((line) => indent + line)
}

function formatMetric({
  name,
  description,
  privilege,
  container,
  options,
}: Metric): readonly string[] {
  const rows = [...options].flatMap(([key, option]) => {
    const { type, description: meaning } = option
    const values = `${type}, ${formatBounds(option)}default ${option.default}`
    return [`  ${key}`, ...wrap(meaning, '      '), `      ${values}`]
  })
  const facts = [`  privilege ${privilege}`, `  image ${container.image}`]
  return [
    name,
    ...wrap(description, '  '),
    ...facts,
    '',
    'Options, as annotations of a pod template or a Namespace:',
    ...rows,
  ]
}

function formatBounds(option: object): string {
  if ('minimum' in option && 'maximum' in option) return `${option.minimum} to ${option.maximum}, `
  return 'enum' in option && Array.isArray(option.enum) ? `${option.enum.join(' or ')}, ` : ''
}
