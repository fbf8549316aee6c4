import type { OtlpNames, RowColumn, RowSection } from '../catalog.ts'

/**
 * Returns the quantity that a column measures: what it says, or else the name and the attributes
 * with which the live export exports it, such as `process.disk.io{disk.io.direction=read}`. Columns
 * without both measure something that no other metric measures.
 */
export function quantityOf({ quantity, otlp, behavior }: RowColumn): string | undefined {
  if (behavior === undefined) return undefined
  return quantity ?? (otlp === undefined ? undefined : quantityOfExport(otlp))
}

/** Returns the quantity of an exported column that names none itself. */
export function quantityOfExport({ name, attributes = {} }: OtlpNames): string | undefined {
  if (name === undefined) return undefined
  const words = Object.entries(attributes)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
  return words.length === 0 ? name : `${name}{${words.join(',')}}`
}

/** The keys that tell apart processes, and the members that are always summed. */
const OF_PROCESSES = ['container', 'program', 'pid', 'tid']

/**
 * Returns what the rows of a section describe. Two columns of one quantity are two measurements of
 * one number only if their rows describe the same: the calls of a process are not the process.
 */
export function thingOf({ of, columns }: RowSection): string {
  const others = columns.filter(({ name, key, otlp }) => {
    return key === true && otlp?.summed !== true && !OF_PROCESSES.includes(name)
  })
  return [of, ...others.map(({ name }) => name).sort()].join(' ')
}

/** How the values of a column become values of its quantity. */
export interface Conversion {
  /** The unit of the quantity: seconds, bytes or a count. */
  readonly unit: 's' | 'bytes' | 'count'
  /** The number by which a value is multiplied. */
  readonly factor: number
  /** Whether the value is a rate, per second of the interval that the row covers. */
  readonly isRate: boolean
}

const total = (unit: Conversion['unit'], factor: number): Conversion => {
  return { unit, factor, isRate: false }
}
const rate = (unit: Conversion['unit'], factor: number): Conversion => {
  return { unit, factor, isRate: true }
}

const [KIB, MIB, GIB] = [1024, 1024 ** 2, 1024 ** 3]

/** The units of columns. A percentage is of a core or of the time: 100 % is a second a second. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  ns: total('s', 1e-9),
  us: total('s', 1e-6),
  ms: total('s', 1e-3),
  s: total('s', 1),
  bytes: total('bytes', 1),
  KiB: total('bytes', KIB),
  MiB: total('bytes', MIB),
  GiB: total('bytes', GIB),
  count: total('count', 1),
  percent: rate('s', 0.01),
  'bytes/s': rate('bytes', 1),
  'KiB/s': rate('bytes', KIB),
  'MiB/s': rate('bytes', MIB),
  'MB/s': rate('bytes', 1e6),
  '1/s': rate('count', 1),
}

/** Returns how a column becomes its quantity; undefined if its unit is not one of an amount. */
export function conversionOf({ unit = '' }: Pick<RowColumn, 'unit'>): Conversion | undefined {
  return Object.hasOwn(CONVERSIONS, unit) ? CONVERSIONS[unit] : undefined
}
