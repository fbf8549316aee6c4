import { loadCatalog } from '../catalog/load.ts'
import type { Metric } from '../core/catalog.ts'
import { printableJson } from '../core/printable.ts'
import type { Output } from '../form.ts'
import { cleanYaml } from '../manifest/print.ts'
import { UsageError, usageError } from './errors.ts'
import type { SettingOptions } from './settings.ts'

export interface MetricsOptions extends SettingOptions {
  readonly output: 'table' | 'yaml' | 'json'
}

/**
 * `ridealong metrics [NAME]`: the catalog, or one metric with its options.
 *
 * @throws UsageError when no metric has the name, or a document does not hold
 */
export async function metrics(name: string | undefined, options: MetricsOptions): Promise<Output> {
  const { catalog: folder, observerImage, output } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const all = [...catalog.metrics.values()]
  const chosen = name === undefined ? all : all.filter((metric) => metric.name === name)
  if (chosen.length === 0) {
    const known = all.map((metric) => metric.name).join(', ')
    throw new UsageError(`no metric is named ${name}; known are ${known}`)
  }
  if (output === 'json') return { document: `${printableJson(chosen.map(plainOf), 2)}\n` }
  if (output === 'yaml')
    return { document: chosen.map((metric) => `---\n${cleanYaml(plainOf(metric))}`).join('') }
  return { lines: name === undefined ? chosen.map(lineOf) : chosen.flatMap(pageOf) }
}

/** The metric as a document of a catalog. */
function plainOf({ name, description, privilege, options, container }: Metric) {
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

function lineOf({ name, privilege, description }: Metric): string {
  return `${name.padEnd(16)} ${privilege.padEnd(11)} ${description}`
}

function pageOf({ name, description, privilege, container, options }: Metric): readonly string[] {
  const rows = [...options].flatMap(([key, option]) => {
    const { type, description: meaning } = option
    const values = `${type}, ${boundsOf(option)}default ${option.default}`
    return [`  ${key}`, `      ${meaning}`, `      ${values}`]
  })
  const head = [name, `  ${description}`, `  privilege ${privilege}`, `  image ${container.image}`]
  return [...head, '', 'Options, as annotations of a pod template or a Namespace:', ...rows]
}

function boundsOf(option: object): string {
  if ('minimum' in option && 'maximum' in option) return `${option.minimum} to ${option.maximum}, `
  return 'enum' in option && Array.isArray(option.enum) ? `${option.enum.join(' or ')}, ` : ''
}
