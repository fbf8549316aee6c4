import type { RowColumn, RowSection } from '../../core/catalog.ts'
import { chooseSource } from '../../core/rules/choose-source.ts'
import { conversionOf, quantityOf, thingOf } from '../../core/rules/quantity.ts'
import { maximum } from '../../lib/statistics.ts'
import { sumOf } from '../evidence/run-evidence.ts'
import type { CollectedRun } from '../report/gather.ts'
import type { LogFacts } from '../report/programs/log-facts.ts'
import { TOTAL_NAMES, TOTALS } from '../report/programs/quantities.ts'
import type { SectionTrack } from '../report/section.ts'
import { joinPods, type PodValue } from './join-pods.ts'
import type { QuantityFacts, QuantityUnit } from './run-facts.ts'

/** The quantities that `process-quantities.ts` measures. */
const OF_PROGRAMS: ReadonlySet<string> = new Set(
  TOTAL_NAMES.flatMap((name) => [TOTALS[name].quantity, TOTALS[name].sampled]),
)

/** A column of a section of one pod, with its value. */
interface Measured {
  readonly pod: string
  readonly metric: string
  readonly order: number
  readonly isWhole: boolean
  readonly section: RowSection
  readonly column: RowColumn
  readonly quantity: string
  readonly unit: QuantityUnit
  readonly value: number | null
}

/**
 * Measures the quantities of containers, interfaces and pods, and the traffic of processes. A
 * counter is measured by its growth, and any other amount by its greatest value. If several metrics
 * have measured a quantity of the same pod, one of them is chosen.
 */
export function measureSections(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly QuantityFacts[] {
  const measured = [...run.sections.values()].flatMap(({ section, measures, tracks }) => {
    if (section.of === 'thread') return []
    const pods = Map.groupBy(tracks.values(), ({ source }) => source)
    return [...pods].flatMap(([source, own]) => {
      const facts = logs.get(source)
      return facts === undefined ? [] : measureColumns(section, measures, own, facts)
    })
  })
  const groups = Map.groupBy(measured, ({ section, quantity, unit }) =>
    JSON.stringify([thingOf(section), quantity, unit]),
  )
  return [...groups.values()].map(joinMetrics)
}

function measureColumns(
  section: RowSection,
  measures: readonly RowColumn[],
  tracks: readonly SectionTrack[],
  { pod, metric, order, isWhole }: LogFacts,
): readonly Measured[] {
  return measures.flatMap((column, index) => {
    const quantity = quantityOf(column)
    const conversion = conversionOf(column)
    if (quantity === undefined || conversion === undefined || conversion.isRate) return []
    if (OF_PROGRAMS.has(quantity) || isState(section, column)) return []
    const value = amountIn(column, index, tracks)
    const { unit, factor } = conversion
    const own = { section, column, quantity, unit, value: value === null ? null : value * factor }
    return [{ pod, metric, order, isWhole, ...own }]
  })
}

/** Reports whether a column is a state of a process, which means little for a whole program. */
function isState(section: RowSection, { behavior }: RowColumn): boolean {
  return section.of === 'process' && behavior !== 'counter'
}

function amountIn({ behavior }: RowColumn, index: number, tracks: readonly SectionTrack[]) {
  if (behavior === 'counter') return sumOf(tracks.map(({ growth }) => growth[index] ?? null))
  return maximum(tracks.flatMap(({ values }) => values[index] ?? []))
}

/** Chooses one metric for each pod, and joins the pods. */
function joinMetrics(own: readonly Measured[]): QuantityFacts {
  const [{ section, column, quantity, unit }] = own as [Measured]
  const pods = [...Map.groupBy(own, ({ pod }) => pod)].flatMap(([pod, sources]) => {
    const chosen = chooseSource(
      [...Map.groupBy(sources, ({ metric }) => metric).values()].map(asSource),
    )
    return chosen === undefined ? [] : [{ pod, ...chosen.source } satisfies PodValue]
  })
  const name = { quantity, of: thingOf(section), title: titleOf(section, column), unit }
  return joinPods(name, pods, column.behavior === 'counter' ? 'sum' : 'greatest')
}

/** Several logs of one metric and pod are those of containers that were started again. */
function asSource(logs: readonly Measured[]) {
  const [{ column, metric, order }] = logs as [Measured]
  const isCounter = column.behavior === 'counter'
  const values = logs.map(({ value }) => value)
  const value = isCounter ? sumOf(values) : maximum(values)
  return {
    metric,
    order,
    value,
    isKnown: value !== null,
    isCounted: column.sampled !== true,
    coversEnded: false,
    isTotal: isCounter,
    isWhole: logs.every(({ isWhole }) => isWhole),
  }
}

function titleOf({ name, of }: RowSection, column: RowColumn): string {
  const thing = of === 'pod' ? name : of
  const words = column.name.replaceAll('_', ' ')
  return words.startsWith(`${thing} `) ? words : `${thing} ${words}`
}
