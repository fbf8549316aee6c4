import { loadCatalog } from '../../src/catalog/load.ts'
import type { Catalog, Metric, Option } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import { DEFAULT_WORD } from '../../src/core/text/metric-list.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { didYouMean } from '../../src/core/text/similar.ts'
import { toolImage } from '../../src/core/tools/tool.ts'
import type { Output, TextBlock, TextCell } from '../../src/lib/output-format.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import {
  type InstalledCatalog,
  readInstalledCatalog,
} from '../shared/catalogs/installed-catalog.ts'
import { UsageError } from '../shared/errors.ts'
import { type OptionalCluster, openOptionalReader } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import type { SettingOptions } from '../shared/settings.ts'

export interface MetricsOptions extends SettingOptions, OptionalCluster {
  readonly namespace?: string | undefined
  readonly output: 'table' | 'yaml' | 'json'
}

/**
 * Runs `ridealong metrics [NAME]`: prints the catalog, or one metric with its options, and says
 * where the catalog comes from.
 *
 * @throws UsageError if no metric has the name, or a document of the catalog is invalid
 */
export async function metrics(
  name: string | undefined,
  options: MetricsOptions,
  { environment, say }: Session,
): Promise<Output> {
  const { output } = options
  const { catalog, origin } = await readCatalog(name, options, environment)
  if (origin !== undefined) say(origin)
  const all = [...catalog.metrics.values()]
  const chosen = name === undefined ? all : all.filter((metric) => metric.name === name)
  if (chosen.length === 0) {
    const known = all.map((metric) => metric.name)
    const unknown = `${name}${didYouMean(name ?? '', known)}`
    throw new UsageError(
      `the catalog has no metric ${unknown}; known metrics are ${known.join(', ')}`,
    )
  }
  const defaults = name === undefined ? [defaultsDocument(catalog)] : []
  const documents = [...chosen.map(toPlain), ...defaults]
  if (output === 'json') return { document: `${printableJson(documents, 2)}\n` }
  if (output === 'yaml')
    return { document: documents.map((document) => `---\n${cleanYaml(document)}`).join('') }
  return { text: name === undefined ? formatCatalog(catalog) : chosen.flatMap(formatMetric) }
}

async function readCatalog(
  name: string | undefined,
  options: MetricsOptions,
  environment: NodeJS.ProcessEnv,
): Promise<InstalledCatalog> {
  const cluster = await openOptionalReader(options, environment)
  const current = 'value' in cluster ? cluster.value?.namespace : undefined
  const builtIn = [DEFAULT_WORD, ...(await loadCatalog({})).metrics.keys()]
  return readInstalledCatalog(options, cluster, {
    namespace: options.namespace ?? current ?? 'default',
    metrics: name === undefined ? builtIn : [name],
  })
}

/** Converts the default metrics of a catalog to a catalog document. */
function defaultsDocument({ defaultMetrics: metrics }: Catalog) {
  return { apiVersion: 'ridealong.dev/v1alpha1', kind: 'Defaults', spec: { metrics } }
}

/** Converts a metric to a catalog document. */
function toPlain(metric: Metric) {
  const { name, description, privilege, options, rows, tool, includes, container } = metric
  const documents = [...options].map(([key, { variable: _, ...option }]) => {
    return [key.slice(key.indexOf('/') + 1), option]
  })
  return {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name },
    spec: {
      description,
      privilege,
      options: Object.fromEntries(documents),
      ...(rows === undefined ? {} : { rows }),
      ...(tool === undefined ? {} : { tool }),
      ...(includes.length === 0 ? {} : { includes }),
      container,
    },
  }
}

function formatCatalog({ metrics, defaultMetrics }: Catalog): readonly TextBlock[] {
  const rows = [...metrics.values()].map(({ name, privilege, description }) => {
    return [name, privilege, description]
  })
  const names = defaultMetrics.length === 0 ? 'none' : defaultMetrics.join(', ')
  return [
    { indent: 0, rows: [headings('NAME', 'PRIVILEGE', 'DESCRIPTION'), ...rows] },
    '',
    `Default metrics, which ${KEYS.inject}: "${DEFAULT_WORD}" requests: ${names}`,
  ]
}

function formatMetric({
  name,
  description,
  privilege,
  container,
  tool,
  options,
}: Metric): readonly TextBlock[] {
  const facts = [
    ['description', description],
    ['privilege', privilege],
    ['image', container.image],
    ...(tool === undefined
      ? []
      : [[tool.installer ? 'installer' : 'image volume', toolImage(tool).image]]),
  ]
  const head: readonly TextBlock[] = [
    { text: name, tone: 'heading' },
    { indent: 2, rows: facts },
  ]
  if (options.size === 0) return [...head, '', 'This metric has no options.']
  const rows = [...options].map(([key, option]) => {
    const values = `${option.type}${formatBounds(option)}`
    return [key.slice(key.indexOf('/') + 1), values, String(option.default), option.description]
  })
  return [
    ...head,
    '',
    `Options, as annotations ${name}.ridealong.dev/OPTION of a pod template or a Namespace:`,
    '',
    { indent: 2, rows: [headings('OPTION', 'VALUES', 'DEFAULT', 'DESCRIPTION'), ...rows] },
  ]
}

function headings(...names: readonly string[]): readonly TextCell[] {
  return names.map((text) => ({ text, tone: 'heading' }))
}

function formatBounds(option: Option): string {
  if (option.type === 'integer') return `, ${option.minimum} to ${option.maximum}`
  return option.type === 'string' ? `: ${option.enum.join(', ')}` : ''
}
