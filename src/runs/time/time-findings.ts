import { nameFirst } from '../../core/text/name-first.ts'
import { durationText } from '../../lib/duration.ts'
import { phaseText } from '../attempts/attempts-text.ts'
import { podText } from '../rules/sentence.ts'
import { listInPlace } from './list-attempts.ts'
import type { TimePart } from './parts.ts'
import type { DividedTime, PlaceTime } from './run-time.ts'

/** The names of findings about where the time of a run went, in the order of their weight. */
export const TIME_FINDINGS = ['lost-to-restarts', 'slow-images', 'late-pods', 'long-queue'] as const

/** A finding about the time of a whole run. */
export interface TimeFinding {
  readonly name: (typeof TIME_FINDINGS)[number]
  /** Without the dot at its end. */
  readonly sentence: string
}

/** Time counts if it is at least this part of the whole, and this many seconds of a mean pod. */
const MIN_PART = 0.1
const MIN_SECONDS = 60

/** The parts that a finding is about, and its sentence. */
interface Rule {
  readonly name: TimeFinding['name']
  readonly parts: readonly TimePart[]
  /** @param time that of a mean pod of the time of the run: `9 min of 58 min` */
  readonly describe: (time: string, places: readonly PlaceTime[]) => string
}

const RULES: readonly Rule[] = [
  {
    name: 'lost-to-restarts',
    parts: ['lost'],
    describe: (time, places) => {
      const worst = findWorst(places, ['lost'])
      const ends = worst === undefined ? '' : endsIn(worst)
      return `restarts cost ${time}${worstOf(places, ['lost'])}${ends}`
    },
  },
  {
    name: 'slow-images',
    parts: ['preparing', 'pulling'],
    describe: (time, places) => {
      const worst = findWorst(places, ['preparing', 'pulling'])
      const images = worst === undefined ? '' : imagesIn(worst)
      const where = worstOf(places, ['preparing', 'pulling'])
      return `images, volumes and networks of the pods took ${time}${where}${images}`
    },
  },
  {
    name: 'late-pods',
    parts: ['partial'],
    describe: (time, places) =>
      `for ${time}, pods ran before the last one started${lastOf(places)}`,
  },
]

/**
 * Returns what took much of the time of a run, apart from its work. The means of all places count.
 */
export function findInTime(time: DividedTime): readonly TimeFinding[] {
  const { places } = time
  const whole = (time.to - time.from) / 1000
  const found = RULES.flatMap(({ name, parts, describe }) => {
    const seconds = meanOf(places, parts)
    if (seconds < MIN_SECONDS || seconds < MIN_PART * whole) return []
    const text = `${durationText(seconds)} of ${durationText(whole)}`
    return { name, sentence: describe(text, places) }
  })
  return [...found, ...findQueue(places)]
}

/** A queue that is longer than the run. */
function findQueue(places: readonly PlaceTime[]): readonly TimeFinding[] {
  const waited = meanOf(places, ['creating', 'scheduling'])
  const ran = meanOf(places, ['partial', 'running'])
  if (waited < MIN_SECONDS || waited <= ran) return []
  const sentence =
    `its pods waited ${durationText(waited)} to be created and scheduled, longer than they ran ` +
    `(${durationText(ran)})`
  return [{ name: 'long-queue', sentence }]
}

function secondsOf({ seconds }: PlaceTime, parts: readonly TimePart[]): number {
  return parts.reduce((sum, part) => sum + seconds[part], 0)
}

function meanOf(places: readonly PlaceTime[], parts: readonly TimePart[]): number {
  return places.reduce((sum, place) => sum + secondsOf(place, parts), 0) / places.length
}

function findWorst(
  places: readonly PlaceTime[],
  parts: readonly TimePart[],
): PlaceTime | undefined {
  return places.toSorted((a, b) => secondsOf(b, parts) - secondsOf(a, parts))[0]
}

function worstOf(places: readonly PlaceTime[], parts: readonly TimePart[]): string {
  const worst = findWorst(places, parts)
  if (worst === undefined || places.length === 1) return ''
  return `, most in ${podText(worst.name)} (${durationText(secondsOf(worst, parts))})`
}

/** The most ends and images that a sentence names. */
const MAX_NAMED = 2

/** Returns how the attempts that were thrown away ended, each end once. */
function endsIn({ pods }: PlaceTime): string {
  const failed = listInPlace(pods).attempts.filter(({ phase }) => phase === 'Failed')
  const ends = [...new Set(failed.map(phaseText))]
  return ends.length === 0 ? '' : `: ${nameFirst(ends, MAX_NAMED)}`
}

/** Returns the node and the images of the first pod: time of the pods after it is lost. */
function imagesIn({ pods: [first] }: PlaceTime): string {
  const images = [...new Set((first?.containers ?? []).flatMap(({ image }) => image ?? []))]
  const node = first?.node ?? null
  return [
    ...(node === null ? [] : [` on node ${node}`]),
    ...(images.length === 0 ? [] : [` with the image ${nameFirst(images, MAX_NAMED)}`]),
  ].join('')
}

/** The pod that started last did not run before it. */
function lastOf(places: readonly PlaceTime[]): string {
  const [last] = places.toSorted((a, b) => a.seconds.partial - b.seconds.partial)
  return last === undefined ? '' : `, ${podText(last.name)}`
}
