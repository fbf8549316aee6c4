import { roundTo } from './round.ts'

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400]
/** The seconds below which a duration has no minutes. */
const MIN_MINUTES = 2 * MINUTE

/**
 * Returns a length of time for people, which has the same form everywhere: `88 µs`, `9.43 s`,
 * `15.2 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. It has three significant digits, or from two
 * minutes two units.
 */
export function durationText(seconds: number): string {
  if (seconds < 0) return `-${durationText(-seconds)}`
  if (seconds > 0 && seconds < 0.001) return `${roundTo(seconds * 1e6, 3)} µs`
  const whole = Math.round(seconds)
  if (whole < MIN_MINUTES) return `${roundTo(seconds, 3)} s`
  if (whole < 2 * HOUR) return twoUnits(whole, [MINUTE, 'min'], [1, 's'])
  if (whole < 2 * DAY) return twoUnits(whole, [HOUR, 'h'], [MINUTE, 'min'])
  return twoUnits(whole, [DAY, 'd'], [HOUR, 'h'])
}

/** The most significant digits of a time that is compared: times that differ less are equal. */
const MAX_DIGITS = 8

/**
 * Returns two times that a reader compares. If they differ and have the same text, they are in
 * seconds, with as many digits as show the difference: `12029 s` and `11981 s`.
 */
export function durationTexts(one: number, other: number): readonly [string, string] {
  const texts = [durationText(one), durationText(other)] as const
  if (one === other || texts[0] !== texts[1]) return texts
  const wholeDigits = String(Math.trunc(Math.max(one, other))).length
  for (let digits = Math.max(wholeDigits, 4); digits <= MAX_DIGITS; digits += 1) {
    const [a, b] = [roundTo(one, digits), roundTo(other, digits)]
    if (a !== b) return [`${a} s`, `${b} s`]
  }
  return texts
}

type Unit = readonly [seconds: number, symbol: string]

/** Returns a time in a large and a small unit; the second part is left out if it is 0. */
function twoUnits(seconds: number, [large, symbol]: Unit, [small, smallSymbol]: Unit): string {
  const all = Math.round(seconds / small) * small
  const rest = Math.round((all % large) / small)
  const first = `${Math.floor(all / large)} ${symbol}`
  return rest === 0 ? first : `${first} ${rest} ${smallSymbol}`
}
