// The formatting of numbers and of the names of lines, and a sentence of two parts of the page.

import { roundedForReader } from '../../../lib/round.ts'
import type { Line } from '../plots.ts'

/** Says that a run has no findings. Rules may be missing, because their metrics are. */
export const NOTHING_FOUND = 'The rules that could be checked found nothing that held the run up.'

/** Formats a rounded number. Separates the thousands. */
export function plain(value: number | null | undefined) {
  if (value === null || value === undefined) return '–'
  const shown = roundedForReader(value)
  return Math.abs(value) >= 1000 ? shown.toLocaleString('en') : String(shown)
}

/** Formats a time since the start of a run, such as a position on an axis: 45 s, 2:05, 1:02:05. */
export function timeInRun(seconds: number) {
  const whole = Math.round(seconds)
  if (whole < 60) return `${seconds < 10 && seconds !== whole ? seconds.toFixed(1) : whole} s`
  const [hours = 0, minutes = 0, rest = 0] = [whole / 3600, (whole / 60) % 60, whole % 60].map(
    Math.floor,
  )
  const two = (part: number) => String(part).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

export function counted(count: number, word: string) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}

/** Returns the name of a line. */
export function nameOf({ pod, program, pid }: Line) {
  const who = /^\d/.test(pod) ? `pod ${pod}` : pod
  const words = [program, pid === null ? '' : String(pid)].filter((word) => word !== '')
  return words.length === 0 ? who : `${who}, ${words.join(' ')}`
}
