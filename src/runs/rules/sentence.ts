import { nameFirst } from '../../core/text/name-first.ts'
import { durationText } from '../../lib/duration.ts'
import { roundedForReader } from '../../lib/round.ts'
import type { Affected, Fact, FactUnits } from './rule.ts'

/** The most pods with a name instead of a number that a sentence names. */
const NAMED = 3

/** Returns a fact as text, with its unit: `47 %`, `12.3 s`, `about 12 s`, `1.5 GiB`. */
export function factText({
  value,
  unit,
  isEndOfSecond = false,
}: Pick<Fact, 'value' | 'unit' | 'isEndOfSecond'>): string {
  if (isEndOfSecond) return `about ${durationText(Math.round(value - 0.5))}`
  switch (unit) {
    case 'percent':
      return `${roundedForReader(value)} %`
    case 'bytes':
      return bytesText(value)
    case '1/s':
      return `${roundedForReader(value)}/s`
    case 'count':
      return String(roundedForReader(value))
    case 'cores':
      return `${roundedForReader(value)} ${value === 1 ? 'processor' : 'processors'}`
    case 's':
      return durationText(value)
  }
}

/** Returns the fact of this name as text. @throws if the finding has no such fact */
export function factIn<Name extends string>(
  { facts }: Affected<Name>,
  name: NoInfer<Name>,
): string {
  const fact = facts.find((one) => one.name === name)
  if (fact === undefined) throw new Error(`the finding has no fact ${name}`)
  return factText(fact)
}

/** The facts of a rule about the part of the time in which a pod was sampled. */
export const WAITED_FACTS = {
  'time waiting': 'percent',
  'time in the samples': 's',
} as const satisfies FactUnits

/**
 * Returns the part as text: `53.3 % of the sampled 21 s`. The samples may begin later and
 * end earlier than the run.
 *
 * @throws if the finding has not the facts `WAITED_FACTS`
 */
export function waitedText(worst: Affected): string {
  const [part, seconds] = [factIn(worst, 'time waiting'), factIn(worst, 'time in the samples')]
  return `${part} of the sampled ${seconds}`
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** Returns a number of bytes as text: `1.5 GiB`. */
export function bytesText(value: number): string {
  let [left, power] = [value, 0]
  while (left >= 1024 && power < BYTE_UNITS.length - 1) {
    left /= 1024
    power += 1
  }
  return `${roundedForReader(left)} ${BYTE_UNITS[power]}`
}

/** Returns the names of the first three things of a finding, and how many more there are. */
export function thingsOf({ things }: Pick<Affected, 'things'>): string {
  return nameFirst(things)
}

/** Returns the name of a pod in a sentence, with the word pod only before a digit: `pod 3`. */
export function podText(pod: string): string {
  return /^\d/.test(pod) ? `pod ${pod}` : pod
}

/**
 * Returns the numbers of pods, ranks or processes as a short text, such as `0-3, 7`. Of
 * other names, only the first three are named.
 */
export function numberList(names: readonly string[]): string {
  const numbers = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const others = names.filter((name) => !/^\d+$/.test(name))
  const named = others.slice(0, NAMED)
  const more = others.length > NAMED ? [`${others.length - NAMED} more`] : []
  return [...ranges(numbers), ...named, ...more].join(', ')
}

/** Returns the names of pods in a sentence: `pod 3`, `pods 0-3, 7`, `worker-0`. */
export function podsText(pods: readonly string[]): string {
  const [only = ''] = pods
  return pods.length === 1 ? podText(only) : `pods ${numberList(pods)}`
}

/** Returns the names of the ranks of a library in a sentence: `MPI ranks 0-1 and 3`. */
export function libraryRanks(library: 'MPI' | 'NCCL', ranks: readonly number[]): string {
  const list = numberList(ranks.map(String)).replace(/, (?=[^,]*$)/, ' and ')
  return `${library} ${ranks.length === 1 ? 'rank' : 'ranks'} ${list}`
}

function ranges(numbers: readonly number[]): readonly string[] {
  const sorted = [...numbers].sort((a, b) => a - b)
  const made: [number, number][] = []
  for (const one of sorted) {
    const last = made.at(-1)
    if (last !== undefined && one === last[1] + 1) last[1] = one
    else made.push([one, one])
  }
  return made.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`))
}
