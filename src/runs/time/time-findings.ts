import { nameFirst } from '../../core/text/name-first.ts'
import { durationText } from '../../lib/duration.ts'
import { sumBy } from '../../lib/statistics.ts'
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

const LOST: readonly TimePart[] = ['lost']
const PREPARING: readonly TimePart[] = ['preparing', 'pulling']

const RULES: readonly Rule[] = [
  {
    name: 'lost-to-restarts',
    parts: LOST,
    describe: (time, places) => `restarts cost ${time}${mostIn(places, LOST, endsIn)}`,
  },
  {
    name: 'slow-images',
    parts: PREPARING,
    describe: (time, places) => {
      const most = mostIn(places, PREPARING, imagesIn)
      return `images, volumes and networks of the pods took ${time}${most}`
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
  return sumBy(parts, (part) => seconds[part])
}

function meanOf(places: readonly PlaceTime[], parts: readonly TimePart[]): number {
  return sumBy(places, (place) => secondsOf(place, parts)) / places.length
}

/**
 * Names the place with the most time in these parts, unless it is the only one, and adds details
 * about it.
 */
function mostIn(
  places: readonly PlaceTime[],
  parts: readonly TimePart[],
  detailsOf: (worst: PlaceTime) => string,
): string {
  const [worst] = places.toSorted((a, b) => secondsOf(b, parts) - secondsOf(a, parts))
  if (worst === undefined) return ''
  const seconds = durationText(secondsOf(worst, parts))
  const most = places.length === 1 ? '' : `, most in ${podText(worst.name)} (${seconds})`
  return `${most}${detailsOf(worst)}`
}

/** The most ends and images that a sentence names. */
const MAX_NAMED = 2

/** Returns how the attempts that failed ended, each end once. */
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
