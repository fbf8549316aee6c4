import { durationText } from '../../lib/duration.ts'
import type { TextBlock } from '../../lib/output-format.ts'
import { percentText } from '../../lib/round.ts'
import { TIME_PART_NAMES, TIME_PARTS, type TimeOfRun, type TimePart } from './parts.ts'
import { runningParts } from './running-time.ts'
import { lostText } from './time-sentence.ts'

/**
 * Formats where the time of a run went: a bar with a letter for each part, in the order in which a
 * pod passes through them, and a row for each part.
 *
 * @param width of the bar, in characters
 */
export function formatTime(time: TimeOfRun, width: number): readonly TextBlock[] {
  const parts = TIME_PART_NAMES.filter((part) => time.seconds[part] > 0)
  return [
    titleOf(time),
    `[${barOf(time.seconds, width - 2)}]`,
    { rows: parts.flatMap((part) => rowsOf(part, time)), indent: 2 },
  ]
}

function titleOf({ from, to, places }: TimeOfRun): string {
  const whole = `Time since its creation: ${durationText((to - from) / 1000)}`
  return places === 1 ? whole : `${whole}, mean of ${places} pods`
}

/** Each part has its share of the cells; the ends of parts are rounded, so that none is added. */
function barOf(seconds: TimeOfRun['seconds'], cells: number): string {
  const total = sumOf(seconds)
  let [before, bar] = [0, '']
  for (const part of TIME_PART_NAMES) {
    before += seconds[part]
    const end = total === 0 ? 0 : Math.round((before / total) * cells)
    bar = bar.padEnd(end, TIME_PARTS[part].letter)
  }
  return bar
}

type Row = readonly [letter: string, name: string, duration: string, share: string]

/** Returns the row of a part. Those of its own parts, which have no letter, follow it. */
function rowsOf(part: TimePart, time: TimeOfRun): readonly Row[] {
  const { seconds, places, restarts } = time
  const { letter, title } = TIME_PARTS[part]
  const name = part === 'lost' ? lostText(restarts) : title
  const row = (first: string, text: string, length: number): Row => {
    return [first, text, durationText(length), percentText((length * places) / sumOf(seconds))]
  }
  const divided = part === 'running' ? runningParts(time) : []
  return [
    row(letter, name, seconds[part] / places),
    ...divided.map(({ phrase, isLimit, seconds: own }) => {
      return row('', `  ${isLimit ? 'at most ' : ''}${phrase}`, own)
    }),
  ]
}

function sumOf(seconds: TimeOfRun['seconds']): number {
  return Object.values(seconds).reduce((sum, one) => sum + one, 0)
}
