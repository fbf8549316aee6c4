// The formatting of numbers and of the names of lines.

import { roundedForReader } from '../../../lib/round.ts'
import type { Line } from '../plots.ts'

/** Formats a rounded number. Separates the thousands. */
export function plain(value: number | null | undefined) {
  if (value === null || value === undefined) return '–'
  const shown = roundedForReader(value)
  return Math.abs(value) >= 1000 ? shown.toLocaleString('en') : String(shown)
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
