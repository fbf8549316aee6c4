import { durationText } from '../../lib/duration.ts'
import type { TextTable } from '../../lib/output-format.ts'
import { factorText } from '../efficiency/factor.ts'
import { findingText } from './card-findings.ts'
import { comparedText, coresText, shortBytes, UNKNOWN } from './card-numbers.ts'
import type { RunCard } from './run-card.ts'

/** The columns of the table of runs. */
export interface TableShape {
  readonly hasNamespaces: boolean
  readonly isWide: boolean
}

interface Column {
  readonly title: string
  readonly cell: (card: RunCard) => string
}

const NAMESPACE: Column = { title: 'NAMESPACE', cell: ({ run }) => run.namespace }

const COLUMNS: readonly Column[] = [
  { title: 'RUN', cell: ({ run }) => `${run.word}/${run.name}` },
  { title: 'PHASE', cell: ({ run }) => run.phase },
  {
    title: 'PODS',
    cell: ({ run: { podCounts } }) => `${podCounts.observed}/${podCounts.expected}`,
  },
  { title: 'TIME', cell: ({ seconds }) => (seconds === null ? UNKNOWN : durationText(seconds)) },
  { title: 'CORES', cell: ({ cores }) => comparedText(cores, coresText) },
  { title: 'MEMORY', cell: ({ memory }) => comparedText(memory, shortBytes) },
]

const WIDE: readonly Column[] = [
  { title: 'STARTED', cell: ({ started }) => startText(started) },
  { title: 'SEEN', cell: ({ podsSeen }) => String(podsSeen) },
  { title: 'REVISION', cell: ({ run }) => run.revision ?? UNKNOWN },
  {
    title: 'EFFICIENCY',
    cell: ({ efficiency: { value } }) => (value === null ? UNKNOWN : factorText(value)),
  },
]

const PAGE: Column = { title: 'PAGE', cell: ({ page }) => page ?? UNKNOWN }

const FINDING: Column = {
  title: 'FINDING',
  cell: ({ findings: [first] }) => (first === undefined ? UNKNOWN : findingText(first)),
}

function startText(started: number | null): string {
  return started === null ? UNKNOWN : new Date(started).toISOString().slice(0, 19)
}

/** Builds the table of runs: a row for each, after a row of titles. */
export function buildRunTable(cards: readonly RunCard[], shape: TableShape): TextTable {
  const columns = [
    ...(shape.hasNamespaces ? [NAMESPACE] : []),
    ...COLUMNS,
    ...(shape.isWide ? WIDE : []),
    ...(shape.isWide && cards.some(({ page }) => page !== null) ? [PAGE] : []),
    FINDING,
  ]
  const titles = columns.map(({ title }) => title)
  return {
    rows: [titles, ...cards.map((card) => columns.map(({ cell }) => cell(card)))],
    indent: 0,
  }
}

/** The columns by which runs can be sorted. */
export const RUN_ORDERS = ['started', 'run', 'phase', 'time', 'cores', 'memory'] as const
export type RunOrder = (typeof RUN_ORDERS)[number]

/** Sorts runs: by name or phase in the order of the alphabet, otherwise the greatest one first. */
export function sortCards(cards: readonly RunCard[], order: RunOrder): readonly RunCard[] {
  const textOf = ({ run }: RunCard) => (order === 'phase' ? run.phase : `${run.word}/${run.name}`)
  if (order === 'run' || order === 'phase')
    return cards.toSorted((a, b) => textOf(a).localeCompare(textOf(b), 'en'))
  return cards.toSorted((a, b) => (NUMBERS[order](b) ?? -1) - (NUMBERS[order](a) ?? -1))
}

const NUMBERS: Readonly<
  Record<Exclude<RunOrder, 'run' | 'phase'>, (card: RunCard) => number | null>
> = {
  started: ({ started }) => started,
  time: ({ seconds }) => seconds,
  cores: ({ cores }) => cores.used ?? cores.requested,
  memory: ({ memory }) => memory.used ?? memory.requested,
}
