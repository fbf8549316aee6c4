import { durationTexts } from '../../lib/duration.ts'
import { formatList } from '../../lib/format-list.ts'
import { roundTo } from '../../lib/round.ts'
import { factText, podText } from '../rules/sentence.ts'
import type { QuantityChange, Verdict } from './change.ts'
import type { SideComparison } from './comparison.ts'
import type { FindingChange } from './finding-change.ts'
import { CONFIDENCE, type Interval, MIN_RUNS } from './interval.ts'
import { MPI_ELAPSED } from './run-facts.ts'
import { chooseRule, type SideEnds } from './side-rules.ts'

/**
 * Returns the result of a comparison in some sentences: the runs that did not finish, how the time
 * changed, whether the runs show that this is more than noise, and the cause.
 */
export function headline(comparison: SideComparison): string {
  const { base, other, ends, time } = comparison
  return [
    ...unfinishedSentences(other, ends.other),
    ...unfinishedSentences(base, ends.base),
    ...timeSentences(comparison),
    ...unknownSentences(comparison),
    ...noiseSentence(time),
    ...programSentence(comparison),
    ...causeSentence(comparison),
  ].join(' ')
}

/** Says how many runs of a side did not finish, and why the first of them did not. */
function unfinishedSentences(
  name: string,
  { runs, unfinished, reason }: SideEnds,
): readonly string[] {
  if (unfinished === 0) return []
  return [unfinishedText(name, runs, unfinished), reason ?? []].flat()
}

function unfinishedText(name: string, runs: number, unfinished: number): string {
  if (runs === 1) return `${name} did not finish.`
  if (unfinished === runs) return `None of the ${runs} runs of ${name} finished.`
  return `${unfinished} of ${runs} runs of ${name} did not finish.`
}

/** Says what is known of the times of the runs that finished. */
function timeSentences(comparison: SideComparison): readonly string[] {
  const { base, other, ends, time } = comparison
  const sides = [
    { name: base, ends: ends.base, value: time.base },
    { name: other, ends: ends.other, value: time.other },
  ]
  const finished = sides.filter((side) => side.ends.unfinished < side.ends.runs)
  const unknown = finished.find(({ value }) => value.median === null)
  if (unknown !== undefined)
    return [`The time of ${unknown.name} is not known: ${unknown.value.missing}.`]
  if (finished.length === sides.length) return [changeSentence(comparison)]
  const span = spanText(time)
  return finished.map(({ name, value }) => {
    return `${name} took ${factText({ value: value.median ?? 0, unit: 's' })}${span}.`
  })
}

function changeSentence(comparison: SideComparison): string {
  const { base, other, ends, time } = comparison
  const [from, to] = durationTexts(time.base.median ?? 0, time.other.median ?? 0)
  const times = `${to} instead of ${from}${spanText(time)}`
  const change = `${percentText(time.ratio)}${rangeText(time.interval)}`
  const left = ends.other.runs - ends.other.unfinished
  switch (shownVerdict(comparison)) {
    case 'more':
      return `${other} is slower than ${base}: ${times}, ${change}.`
    case 'less':
      return `${other} is faster than ${base}: ${times}, ${change}.`
    case 'same':
      return `${other} and ${base} show no difference in time: ${times}, ${change}.`
    case 'unknown':
    case 'unfinished':
      return `${left < ends.other.runs ? `The other ${left}` : other} took ${times}, ${change}.`
  }
}

function spanText({ quantity }: QuantityChange): string {
  return quantity === MPI_ELAPSED ? ' from MPI_Init to MPI_Finalize' : ''
}

/**
 * Returns what is said about the time of a side: `unfinished` if a run of it, or each run of the
 * base, did not finish, and `unknown` if it is not known whether all did.
 */
export function shownVerdict(comparison: SideComparison): Verdict | 'unfinished' {
  switch (chooseRule(comparison).name) {
    case 'unfinished':
    case 'base-unfinished':
      return 'unfinished'
    case 'end-unknown':
      return 'unknown'
    default:
      return comparison.time.verdict
  }
}

function unknownSentences({ base, other, ends }: SideComparison): readonly string[] {
  const sides = [
    { name: base, ...ends.base },
    { name: other, ...ends.other },
  ].filter(({ unknown }) => unknown > 0)
  const reason = sides.find(({ unfinished }) => unfinished === 0)?.reason ?? []
  if (sides.length === 0) return []
  const names = formatList(
    sides.map(({ name }) => name),
    'and',
  )
  return [`It is not known whether ${names} finished.`, reason].flat()
}

function noiseSentence({ verdict, base, other }: QuantityChange): readonly string[] {
  const isKnown = base.median !== null && other.median !== null
  if (verdict !== 'unknown' || !isKnown) return []
  const fewest = Math.min(base.runs, other.runs)
  const has = `${fewest} ${fewest === 1 ? 'run' : 'runs'}`
  return [`This may be noise: ${has} of a side cannot show it, at least ${MIN_RUNS} are needed.`]
}

function programSentence({ base, other, programs }: SideComparison): readonly string[] {
  if (programs === null) return []
  const [before, after] = [programs.base, programs.other].map((names) => formatList(names, 'and'))
  return [`The programs differ: ${base} ran ${before}, and ${other} ran ${after}.`]
}

/** The reason why runs did not finish already names a failure. */
function causeSentence({ cause, ends }: SideComparison): readonly string[] {
  if (cause === null || ends.other.unfinished > 0) return []
  if (cause.kind === 'part') {
    const { part, title, base, other } = cause.change
    const [from, to] = durationTexts(base, other)
    return [`The largest change: ${title} of ${podText(part)}, ${to} instead of ${from}.`]
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
