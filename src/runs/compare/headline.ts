import { roundTo } from '../../lib/round.ts'
import { factText, rankName } from '../rules/sentence.ts'
import type { TimeCause } from './cause.ts'
import type { QuantityChange } from './change.ts'
import type { SideComparison } from './comparison.ts'
import type { FindingChange } from './finding-change.ts'
import { CONFIDENCE, type Interval, MIN_RUNS } from './interval.ts'
import { MPI_ELAPSED } from './run-facts.ts'

/**
 * Returns the result of a comparison in some sentences: how the time changed, whether the runs show
 * that this is more than noise, and the cause.
 */
export function headline({ base, other, time, cause }: SideComparison): string {
  return [timeSentence(time, base, other), ...noiseSentence(time), ...causeSentence(cause)].join(
    ' ',
  )
}

function timeSentence(time: QuantityChange, base: string, other: string): string {
  const [before, after] = [time.base.median, time.other.median]
  if (before === null || after === null) {
    const [name, reason] = before === null ? [base, time.base.missing] : [other, time.other.missing]
    return `The time of ${name} is not known: ${reason}.`
  }
  const [from, to] = [before, after].map((value) => factText({ value, unit: 's' }))
  const span = time.quantity === MPI_ELAPSED ? ' from MPI_Init to MPI_Finalize' : ''
  const times = `${to} instead of ${from}${span}`
  const change = `${percentText(time.ratio)}${rangeText(time.interval)}`
  switch (time.verdict) {
    case 'more':
      return `${other} is slower than ${base}: ${times}, ${change}.`
    case 'less':
      return `${other} is faster than ${base}: ${times}, ${change}.`
    case 'same':
      return `${other} and ${base} show no difference in time: ${times}, ${change}.`
    case 'unknown':
      return `${other} took ${times}, ${change}.`
  }
}

function noiseSentence({ verdict, base, other }: QuantityChange): readonly string[] {
  const isKnown = base.median !== null && other.median !== null
  if (verdict !== 'unknown' || !isKnown) return []
  const fewest = Math.min(base.runs, other.runs)
  const has = `${fewest} ${fewest === 1 ? 'run' : 'runs'}`
  return [`This may be noise: ${has} of a side cannot show it, at least ${MIN_RUNS} are needed.`]
}

function causeSentence(cause: TimeCause | null): readonly string[] {
  if (cause === null) return []
  if (cause.kind === 'rank') {
    const { rank, title, base, other } = cause.change
    const [from, to] = [base, other].map((value) => factText({ value, unit: 's' }))
    return [`The largest change: ${title} of ${rankName(rank)}, ${to} instead of ${from}.`]
  }
  const { status, title, sentence } = cause.change
  const isKnown = status === 'came' || status === 'went' || status === 'stayed'
  const word = isKnown ? STATUS_WORDS[status] : ''
  return [`${word}: ${title}${lossText(cause.change)}. ${sentence}`]
}

const STATUS_WORDS = { came: 'New finding', went: 'No longer found', stayed: 'Changed finding' }

/** Returns by how much the time lost changed. */
function lossText({ status, secondsLost }: FindingChange): string {
  if (secondsLost === null || status === 'came') return ''
  const seconds = factText({ value: Math.abs(secondsLost), unit: 's' })
  return ` (${seconds} ${secondsLost < 0 ? 'less' : 'more'} lost)`
}

/** Returns a ratio as a change in percent, with its sign. */
export function percentText(ratio: number | null): string {
  if (ratio === null) return '–'
  if (!Number.isFinite(ratio)) return 'from 0'
  const percent = (ratio - 1) * 100
  const rounded = Number(percent.toFixed(Math.abs(percent) < 10 ? 1 : 0))
  return `${rounded > 0 ? '+' : ''}${rounded === 0 ? 0 : rounded} %`
}

function rangeText(interval: Interval | null): string {
  if (interval === null) return ''
  return ` (${roundTo(CONFIDENCE * 100, 3)} % interval: ${intervalText(interval)})`
}

/** Returns the limits of a ratio as changes in percent. */
export function intervalText({ lower, upper }: Interval): string {
  return `${percentText(lower)} to ${Number.isFinite(upper) ? percentText(upper) : 'any'}`
}
