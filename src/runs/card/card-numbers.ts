import { roundTo } from '../../lib/round.ts'
import { bytesText } from '../rules/sentence.ts'

/** A number that is not known, in a table. */
export const UNKNOWN = '-'

/** Returns a number of processors as text: `0.25`, `3.9`, `128`. */
export function coresText(cores: number): string {
  return String(cores < 100 ? roundTo(cores, 2) : Math.round(cores))
}

/** A number that was used, and the one that was requested; null if it is not known. */
export interface UsedNumber {
  readonly used: number | null
  readonly requested: number | null
}

/** Returns used and requested numbers as one cell: `3.9/8`. */
export function comparedText(
  { used, requested }: UsedNumber,
  format: (value: number) => string,
): string {
  if (used === null && requested === null) return UNKNOWN
  const [left, right] = [used, requested].map((value) => (value === null ? UNKNOWN : format(value)))
  return `${left}/${right}`
}

/** Returns bytes for a narrow column: `1.5Gi`. */
export function shortBytes(bytes: number): string {
  return bytesText(bytes).replace(' ', '').replace(/B$/, '')
}

/** Returns processors as a quantity of Kubernetes, rounded up: `250m`. */
export function cpuQuantity(cores: number): string {
  // The rounding of floating-point numbers must not add a thousandth.
  const thousandths = Math.ceil(Number((cores * 1000).toFixed(6)))
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`
}

/** Returns bytes as a quantity of Kubernetes, rounded up: `138Mi`. */
export function memoryQuantity(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)}Mi`
}
