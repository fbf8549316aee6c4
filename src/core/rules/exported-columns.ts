import type { Catalog, Metric, RowColumn, RowSection, RowsDescription } from '../catalog.ts'
import type { Injected } from '../decision.ts'
import type { EnvVar } from '../kubernetes/environment.ts'
import { asObjects, asText, type Fields, fieldsOrNone, parseFields } from '../kubernetes/json.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { exportedName, exportVariables, ROWS_VARIABLE } from '../live-export.ts'
import { chooseSource, type QuantitySource } from './choose-source.ts'
import { findContainer } from './observer-difference.ts'
import { quantityOf, thingOf } from './quantity.ts'

/**
 * Returns the variables of the live export of each observer that a decision adds. Observers do not
 * know each other's rows. If several observers of the pod measure one quantity of the same thing,
 * only one of them exports it: the columns of the others are left out. What an observer exports
 * that the pod already has does not change, so the new ones leave it out.
 */
export function exportOf(
  pod: Pod,
  { observers, present }: Pick<Injected, 'observers' | 'present'>,
  catalog: Catalog,
): (metric: Metric) => readonly EnvVar[] {
  const metrics = observers.map(({ metric }) => metric)
  if (metrics.every(({ liveExport }) => liveExport === undefined))
    return ({ name }) => exportVariables(name, undefined, undefined)
  const taken = exportedBefore(pod, present, catalog)
  const owners = chooseOwners(metrics, catalog)
  return ({ name, liveExport, rows }) =>
    exportVariables(name, liveExport, rows, (section, column) => {
      const id = measurementIn(name, section, column)
      return id !== undefined && (taken.has(id) || owners.get(id) !== name)
    })
}

/**
 * A quantity and the thing of which it is measured, as one text. A column without a quantity
 * measures what its exported name says, so that no two observers of a pod export the same name.
 */
function measurementIn(metric: string, section: RowSection, column: RowColumn): string | undefined {
  if (column.behavior === undefined) return undefined
  const quantity = quantityOf(column) ?? exportedName(metric, section.name, column)
  return `${thingOf(section)} ${quantity}`
}

/** An observer that will measure a quantity. */
interface Exporter extends QuantitySource {
  readonly metric: string
}

/** Chooses, for each quantity of a thing, the metric whose observer exports it. */
function chooseOwners(
  metrics: readonly Metric[],
  catalog: Catalog,
): ReadonlyMap<string, string | undefined> {
  const names = [...catalog.metrics.keys()]
  const exporters = new Map<string, Exporter[]>()
  for (const { name, liveExport, rows } of metrics) {
    if (liveExport === undefined || rows === undefined) continue
    for (const [id, facts] of measurementsIn(name, rows)) {
      const own = exporters.get(id) ?? []
      exporters.set(id, own)
      own.push({ ...facts, metric: name, order: names.indexOf(name) })
    }
  }
  return new Map([...exporters].map(([id, own]) => [id, chooseSource(own)?.source.metric]))
}

type Facts = Omit<QuantitySource, 'order'>

/** Returns what a description says about each quantity that it has; of several columns the best. */
function measurementsIn(
  metric: string,
  { sections, summary = [] }: RowsDescription,
): ReadonlyMap<string, Facts> {
  const found = new Map<string, Facts>()
  const add = (section: RowSection, coversEnded: boolean) => {
    for (const column of section.columns) {
      const id = measurementIn(metric, section, column)
      if (id === undefined) continue
      const known = found.get(id)
      found.set(id, {
        isKnown: true,
        isWhole: true,
        isCounted: known?.isCounted === true || column.sampled !== true,
        coversEnded: known?.coversEnded === true || coversEnded,
        isTotal: known?.isTotal === true || column.behavior === 'counter',
      })
    }
  }
  for (const section of sections) add(section, false)
  for (const section of summary) add(section, true)
  return found
}

/**
 * Returns the quantities that the observers export that the pod already has. Those that `ridealong
 * attach` added are ephemeral containers.
 */
function exportedBefore(
  { spec }: Pod,
  present: readonly string[],
  { metrics }: Catalog,
): ReadonlySet<string> {
  const injected = present.flatMap((name): readonly Fields[] => {
    const found = findContainer(spec, name)
    return found === undefined ? [] : [found.container]
  })
  const all = [...injected, ...asObjects(spec.ephemeralContainers)]
  return new Set(
    all.flatMap((container) => {
      const metric = metrics.get(asText(container.name) ?? '')
      return metric?.rows === undefined ? [] : exportedIn(container, metric.name, metric.rows)
    }),
  )
}

/** Returns the quantities in the variable of an observer, by the columns that it names. */
function exportedIn(container: Fields, metric: string, rows: RowsDescription): readonly string[] {
  const variable = asObjects(container.env).find(({ name }) => name === ROWS_VARIABLE)
  const described = fieldsOrNone(parseFields(asText(variable?.value)))
  const sections = [...asObjects(described.sections), ...asObjects(described.summary)]
  return [...rows.sections, ...(rows.summary ?? [])].flatMap((section) => {
    const values = asObjects(sections.find(({ name }) => name === section.name)?.values)
    const names = new Set(values.map(({ column }) => column))
    return section.columns.flatMap((column) => {
      return names.has(column.name) ? (measurementIn(metric, section, column) ?? []) : []
    })
  })
}
