// The units in which the page shows numbers: words, and of bytes the unit with the fewest digits.

/** A unit for people, and the number that converts a value to it. */
export interface ShownUnit {
  readonly unit: string
  readonly factor: number
}

const AMOUNTS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
/** Rates count in thousands, as those of disks and of networks. */
const RATES = ['bytes/s', 'kB/s', 'MB/s', 'GB/s']
const BYTES_IN: Readonly<Record<string, number>> = {
  bytes: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  MB: 1e6,
}
const WORDS: Readonly<Record<string, ShownUnit>> = {
  '/s': { unit: 'per second', factor: 1 },
  's/s': { unit: '% of the time', factor: 100 },
  'ms/s': { unit: '% of the time', factor: 0.1 },
  ticks: { unit: 'clock ticks', factor: 1 },
}

/** Returns the unit in which values are shown. @param most the greatest absolute value */
export function shownUnit(unit: string, most: number): ShownUnit {
  const isRate = unit.endsWith('/s')
  const bytes = BYTES_IN[isRate ? unit.slice(0, -2) : unit]
  if (bytes === undefined) return WORDS[unit] ?? { unit, factor: 1 }
  const [units, step] = isRate ? [RATES, 1000] : [AMOUNTS, 1024]
  let [power, size] = [0, most * bytes]
  while (size >= step && power < units.length - 1) {
    size /= step
    power += 1
  }
  return { unit: units[power] ?? unit, factor: bytes / step ** power }
}

/** Returns the greatest absolute value; 0 without values. */
export function mostOf(values: Iterable<unknown>): number {
  let most = 0
  for (const value of values) if (typeof value === 'number') most = Math.max(most, Math.abs(value))
  return most
}
