import { durationTexts } from '../../lib/duration.ts'
import type { TextBlock, TextCell, TextTable } from '../../lib/output-format.ts'
import { roundTo } from '../../lib/round.ts'
import { factorText } from '../efficiency/factor.ts'
import { factText, podText } from '../rules/sentence.ts'
import type { QuantityChange, Side, SideValue } from './change.ts'
import type { RunComparison, SideComparison } from './comparison.ts'
import type { FindingChange, SideFinding } from './finding-change.ts'
import { headline, intervalText, percentText, shownVerdict } from './headline.ts'
import { MPI_ELAPSED, type QuantityUnit, TIME } from './run-facts.ts'
import type { Scaling } from './scaling.ts'
import { countEnds } from './side-rules.ts'
import { MPI_TIME } from './tool-quantities.ts'

/** The most rows of the tables. The JSON has all of them. */
export interface Lengths {
  /** Of the table of quantities. */
  readonly quantities: number
  /** Of the tables of pods and ranks, of calls and of functions. */
  readonly lists: number
}

const SHORT: Lengths = { quantities: 12, lists: 8 }
/** The change from which a row is shown if there are too few runs for a verdict. */
const MIN_CHANGE = 0.1

/** Formats a comparison for people. Each comparison has one of the first lines, its result. */
export function formatComparison(
  { sides, comparisons, scaling }: RunComparison,
  lengths = SHORT,
): readonly TextBlock[] {
  return [
    ...comparisons.map((one) => ({ text: headline(one), tone: toneOf(one) }) satisfies TextCell),
    '',
    { indent: 2, rows: sides.map(sideRow) },
    ...sides.flatMap(({ name, runs }) =>
      runs.flatMap((run) => run.notices.map((notice) => `${name}: ${notice}`)),
    ),
    ...(scaling === null ? [] : scalingBlocks(scaling)),
    ...comparisons.flatMap((comparison) => detailBlocks(comparison, lengths)),
  ]
}

function toneOf(comparison: SideComparison) {
  switch (shownVerdict(comparison)) {
    case 'more':
      return 'bad'
    case 'unfinished':
      return comparison.ends.other.unfinished > 0 ? 'bad' : 'doubtful'
    case 'less':
      return 'good'
    default:
      return 'doubtful'
  }
}

function sideRow(side: Side): readonly TextCell[] {
  const { name, runs } = side
  const [first] = runs
  const counts = [...new Set(runs.map(({ size }) => size))].sort((a, b) => a - b)
  const { unfinished } = countEnds(side)
  const left = unfinished === 0 ? '' : `, ${unfinished} did not finish`
  const count = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}${left}`
  const more = runs.length > 1 ? ` and ${runs.length - 1} more` : ''
  const unit = first?.sizeUnit ?? 'pods'
  const noun = counts.length === 1 && counts[0] === 1 ? unit.slice(0, -1) : unit
  return [name, count, `${counts.join(', ')} ${noun}`, `${first?.name}${more}`]
}

function heading(text: string): readonly TextBlock[] {
  return ['', { text, tone: 'heading' }]
}

function scalingBlocks({ sizeUnit, rows }: Scaling): readonly TextBlock[] {
  const table = rows.map(({ side, size, seconds, speedUp, efficiency }) => [
    side,
    String(size),
    factText({ value: seconds, unit: 's' }),
    String(roundTo(speedUp, 3)),
    factText({ value: 100 * efficiency, unit: 'percent' }),
  ])
  const titles = ['', sizeUnit, 'time', 'speed-up', 'efficiency']
  return [...heading('Scaling, if the work is the same'), titledTable([titles, ...table])]
}

function titledTable(rows: TextTable['rows']): TextTable {
  return { indent: 2, rows, hasTitles: true }
}

function detailBlocks(comparison: SideComparison, lengths: Lengths): readonly TextBlock[] {
  const { base, other, time, quantities, calls, functions } = comparison
  const titles = ['', base, other, 'change', 'interval', '']
  const tableOf = (changes: readonly QuantityChange[]) =>
    titledTable([titles, ...changes.map((change) => changeRow(change, comparison))])
  const list = (title: string, changes: readonly QuantityChange[] | null) => {
    const shown = (changes ?? []).filter(isShown).slice(0, lengths.lists)
    return shown.length === 0 ? [] : [...heading(title), tableOf(shown)]
  }
  return [
    ...findingBlocks(comparison),
    ...heading(`${other} against ${base}`),
    tableOf([time, ...chooseRows(quantities.filter(isAmount), lengths.quantities)]),
    ...efficiencyBlocks(quantities, tableOf),
    ...partBlocks(comparison, lengths.lists),
    ...list('Functions of MPI', calls),
    ...list('Processor time of functions', functions),
  ]
}

/** Quantities that are always shown, if a side has them. */
const MAIN: readonly string[] = [
  'process.cpu.time',
  'ridealong.process.memory.peak',
  'ridealong.process.run_delay',
  TIME,
  MPI_ELAPSED,
  MPI_TIME,
]

/** Reports whether a quantity is an amount, and not a part of the time. */
function isAmount({ unit }: QuantityChange): boolean {
  return unit !== 'ratio'
}

/** Shows the efficiency and its factors, if a side has one. */
function efficiencyBlocks(
  quantities: readonly QuantityChange[],
  tableOf: (changes: readonly QuantityChange[]) => TextTable,
): readonly TextBlock[] {
  const known = quantities.filter(
    (change) => !isAmount(change) && (change.base.median ?? change.other.median) !== null,
  )
  if (known.length === 0) return []
  return [...heading('Efficiency'), tableOf(withThing(known))]
}

/** Names what each quantity is about, if they are not all about the same. */
function withThing(changes: readonly QuantityChange[]): readonly QuantityChange[] {
  if (new Set(changes.map(({ of }) => of)).size === 1) return changes
  return changes.map((change) => ({ ...change, title: `${change.of}: ${change.title}` }))
}

/** Returns the main quantities, and then those that changed most. */
function chooseRows(changes: readonly QuantityChange[], most: number): readonly QuantityChange[] {
  const main = changes.filter(({ quantity }) => MAIN.includes(quantity))
  const others = changes.filter((change) => !main.includes(change) && isShown(change))
  const size = ({ ratio }: QuantityChange) => Math.abs(Math.log(ratio ?? 1))
  const sorted = [...others].sort((a, b) => size(b) - size(a))
  return [...main, ...sorted.slice(0, most - main.length)]
}

/** Reports whether a change is worth a row: it is real or, if that is not known, not small. */
function isShown({ verdict, ratio }: QuantityChange): boolean {
  if (verdict !== 'unknown') return verdict !== 'same'
  return ratio !== null && Math.abs(ratio - 1) >= MIN_CHANGE
}

function changeRow(change: QuantityChange, { base, other }: SideComparison): readonly TextCell[] {
  const { title, unit, ratio, interval, verdict } = change
  return [
    title,
    ...valueTexts(change.base, change.other, unit),
    percentText(ratio),
    interval === null ? '' : intervalText(interval),
    noteOn(change, base, other) || (verdict === 'unknown' ? '' : verdict),
  ]
}

function valueTexts(base: SideValue, other: SideValue, unit: QuantityUnit): readonly string[] {
  if (unit === 's' && base.median !== null && other.median !== null)
    return durationTexts(base.median, other.median)
  return [valueText(base, unit), valueText(other, unit)]
}

function valueText({ median }: SideValue, unit: QuantityUnit): string {
  if (median === null) return '–'
  return unit === 'ratio' ? factorText(median) : factText({ value: median, unit })
}

/** Says why a value is missing. */
function noteOn(change: QuantityChange, base: string, other: string): string {
  const sides = [
    [base, change.base],
    [other, change.other],
  ] as const
  return sides
    .flatMap(([name, { missing }]) => (missing === null ? [] : `${name}: ${missing}`))
    .join('; ')
}

const STATUS_WORDS: Readonly<Record<FindingChange['status'], string>> = {
  came: 'new',
  went: 'gone',
  stayed: 'both',
  rare: 'rare',
  unknown: 'not checked',
}

/** Shows all findings, and the sentences of those that came or went and are not the cause. */
function findingBlocks({ findings, cause, base, other }: SideComparison): readonly TextBlock[] {
  if (findings.length === 0) return []
  const rows = findings.map((change) => [
    STATUS_WORDS[change.status],
    change.title,
    countText(change.base),
    countText(change.other),
    change.status === 'unknown' ? uncheckedText(change, base, other) : '',
  ])
  const changed = findings.filter(({ status }) => status === 'came' || status === 'went')
  const sentences = changed.filter((change) => change !== cause?.change)
  return [
    ...heading('Findings'),
    titledTable([['', '', base, other, ''], ...rows]),
    ...sentences.map(({ title, sentence }) => `  ${title}: ${sentence}`),
  ]
}

/** Returns the number of runs with a finding, and the time lost. */
function countText({ checked, found, secondsLost }: SideFinding): string {
  if (checked === 0) return '–'
  const lost = secondsLost === null ? '' : `, ${factText({ value: secondsLost, unit: 's' })}`
  return `${found} of ${checked}${lost}`
}

function uncheckedText({ base, other }: FindingChange, first: string, second: string): string {
  const [name, side] = base.checked === 0 ? [first, base] : [second, other]
  return `not checked in ${name}: ${side.unchecked}`
}

function partBlocks({ parts, base, other }: SideComparison, most: number): readonly TextBlock[] {
  const names = new Set(parts.map(({ part }) => part))
  if (names.size < 2) return []
  const rows = parts
    .slice(0, most)
    .map(({ part, title, base: from, other: to }) => [
      podText(part),
      title,
      ...durationTexts(from, to),
      percentText(from === 0 ? null : to / from),
    ])
  const titles = ['', '', base, other, 'change']
  return [...heading('Pods and MPI ranks with the largest change'), titledTable([titles, ...rows])]
}
