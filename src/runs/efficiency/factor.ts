import { roundTo } from '../../lib/round.ts'

/** The factors of an efficiency, with their titles and meanings for people. */
export const FACTORS = {
  efficiency: {
    title: 'Efficiency',
    meaning:
      'the part of the time that was spent computing; without the calls of MPI, the part in ' +
      'which a process ran, also if it waited in MPI',
    loss: null,
  },
  'load-balance': {
    title: 'Load balance',
    meaning: 'the mean useful time of the MPI ranks, divided by the greatest one',
    loss: 'uneven work',
  },
  'balance-between-pods': {
    title: 'Between pods',
    meaning: 'the mean useful time of the MPI ranks, divided by the greatest mean of a pod',
    loss: 'ranks with less work',
  },
  'balance-within-pods': {
    title: 'Within pods',
    meaning: 'the greatest mean useful time of a pod, divided by that of an MPI rank',
    loss: 'ranks with less work',
  },
  'communication-and-platform': {
    title: 'Communication and platform',
    meaning: 'the greatest useful time of an MPI rank, divided by the time of the job',
    loss: 'MPI and waiting',
  },
  communication: {
    title: 'Communication',
    meaning:
      'the greatest useful time of an MPI rank, divided by the time that the job would have ' +
      'taken without waiting for processors',
    loss: 'MPI',
  },
  platform: {
    title: 'Platform',
    meaning:
      'the part of the time that is left without the time in which threads waited for a ' +
      'processor, which includes throttling',
    loss: 'waiting for a processor',
  },
  storage: {
    title: 'Storage',
    meaning: 'the part of the time that is left without waiting for storage',
    loss: 'waiting for storage',
  },
  activity: {
    title: 'Activity',
    meaning: 'of the rest of the time, the part in which a thread could run',
    loss: 'idle processes',
  },
} as const satisfies Readonly<Record<string, FactorText>>

interface FactorText {
  readonly title: string
  readonly meaning: string
  /** To what the rest of the time was lost; null if this is said by the factors of the product. */
  readonly loss: string | null
}

export type FactorName = keyof typeof FACTORS

/** An efficiency, or a factor of one. A value is above 0 and at most 1. */
export interface Factor {
  readonly name: FactorName
  /** Null if it cannot be computed. */
  readonly value: number | null
  /** Why it cannot be computed; null if it can. */
  readonly missing: string | null
  /** The least value that the rows allow; 0 if they allow all; null if the value is exact. */
  readonly least: number | null
  /** The factors whose product is the value. */
  readonly parts: readonly Factor[]
}

/** Returns a factor with a value. */
export function factor(
  name: FactorName,
  value: number,
  { parts = [], least = null }: Partial<Pick<Factor, 'parts' | 'least'>> = {},
): Factor {
  return { name, value: Math.min(value, 1), missing: null, least, parts }
}

/** Why the time of waiting for storage is not known. */
export const WITHOUT_STORAGE = 'waits for storage were not measured and count as idle time'

/** The same, if the states of the processes show that they did not wait for storage. */
export const NEVER_IN_STORAGE =
  'waits for storage were not measured, but no process was seen to wait for storage'

/** Returns a factor that cannot be computed. @param missing the reason */
export function missingFactor(name: FactorName, missing: string): Factor {
  return { name, value: null, missing, least: null, parts: [] }
}

/** The value of a factor to which nothing was lost. */
const NOTHING_LOST = '1.00'

/** Reports whether time was lost to a factor, in the two digits that people see. */
export function isLoss({ value }: Factor): boolean {
  return value !== null && factorText(value) !== NOTHING_LOST
}

/** Returns a factor and all factors of which it is the product, each before its own. */
export function listFactors(root: Factor): readonly Factor[] {
  return [root, ...root.parts.flatMap(listFactors)]
}

/** Returns the value of a factor in a tree; null if it is not in the tree, or is missing. */
export function valueIn(root: Factor, name: FactorName): number | null {
  return listFactors(root).find((one) => one.name === name)?.value ?? null
}

/** Returns the name of a factor inside a sentence. */
export function factorWords(name: FactorName): string {
  return FACTORS[name].title.toLowerCase()
}

/** Returns the value of a factor for people, with `at most` if the rows allow all below it. */
export function limitText({ value, least }: Pick<Factor, 'value' | 'least'>): string {
  return `${least === 0 ? 'at most ' : ''}${factorText(value ?? 0)}`
}

/** Returns a value for people: with two digits after the point, or if it is small, two digits. */
export function factorText(value: number): string {
  return value < 0.01 ? String(roundTo(value, 2)) : value.toFixed(2)
}
