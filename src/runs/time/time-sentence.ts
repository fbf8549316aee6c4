import { durationText } from '../../lib/duration.ts'
import {
  type PartText,
  TIME_PART_NAMES,
  TIME_PARTS,
  type TimeOfRun,
  type TimePart,
} from './parts.ts'
import { runningParts } from './running-time.ts'

/** The most parts that a sentence names, apart from running and the time that is not known. */
const MAX_NAMED = 3

/**
 * Returns in one sentence where the time of a run went, the longest part first, and the time that
 * is not known last: `58 min since its creation: 31 min running, 27 min lost to 2 restarts`. The
 * times are those of a mean pod.
 *
 * @param beginning what the time begins with: `its creation`
 * @param isOver whether the run has ended
 */
export function timeSentence(time: TimeOfRun, beginning: string, isOver: boolean): string {
  const { from, to, places } = time
  const so = isOver ? '' : ' so far'
  const mean = places === 1 ? '' : `, mean of ${places} pods`
  const whole = `${durationText((to - from) / 1000)}${so} since ${beginning}${mean}`
  const parts = partTexts(time)
  return parts.length === 0 ? whole : `${whole}: ${parts.join(', ')}`
}

function partTexts(time: TimeOfRun): readonly string[] {
  const { seconds, places } = time
  const text = (length: number, phrase: string) => `${durationText(length / places)} ${phrase}`
  const nameParts = (parts: readonly TimePart[]) =>
    parts.map((part) => text(seconds[part], phraseOf(part, time)))
  const known = TIME_PART_NAMES.filter((part) => seconds[part] > 0 && part !== 'unknown')
  const sorted = known.sort((a, b) => seconds[b] - seconds[a])
  const others = sorted.filter((part) => part !== 'running')
  // A single part needs no more words than the rest.
  const rest: readonly TimePart[] = others.length === MAX_NAMED + 1 ? [] : others.slice(MAX_NAMED)
  const length = rest.reduce((sum, part) => sum + seconds[part], 0)
  return [
    ...nameParts(sorted.filter((part) => !rest.includes(part))),
    ...(rest.length === 0 ? [] : [text(length, 'for the rest')]),
    ...nameParts(seconds.unknown > 0 ? ['unknown'] : []),
  ]
}

function phraseOf(part: TimePart, time: TimeOfRun): string {
  if (part === 'lost') return lostText(time.restarts)
  const divided = part === 'running' ? runningParts(time) : []
  const states = divided.map(({ phrase, isLimit, seconds }) => {
    return `${isLimit ? 'at most ' : ''}${durationText(seconds)} ${phrase}`
  })
  const { title, phrase: words = title }: PartText = TIME_PARTS[part]
  return `${words}${states.length === 0 ? '' : ` (${states.join(', ')})`}`
}

/**
 * Returns to what time was lost: `lost to 2 restarts`. A container that waits for its next start
 * has not been started again.
 */
export function lostText(restarts: number): string {
  if (restarts === 0) return 'lost to an attempt that failed'
  return restarts === 1 ? 'lost to 1 restart' : `lost to ${restarts} restarts`
}
