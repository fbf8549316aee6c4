/** The maximum length of a quantity, in characters. Longer text is invalid. */
const MAX_LENGTH = 40

const QUANTITY =
  /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/

/** The factor of each suffix, in units of 10^-12. Sums and comparisons of integers are exact. */
const SCALE: Readonly<Record<string, bigint>> = {
  n: 10n ** 3n,
  u: 10n ** 6n,
  m: 10n ** 9n,
  '': 10n ** 12n,
  k: 10n ** 15n,
  M: 10n ** 18n,
  G: 10n ** 21n,
  T: 10n ** 24n,
  P: 10n ** 27n,
  E: 10n ** 30n,
  Ki: 1024n * 10n ** 12n,
  Mi: 1024n ** 2n * 10n ** 12n,
  Gi: 1024n ** 3n * 10n ** 12n,
  Ti: 1024n ** 4n * 10n ** 12n,
  Pi: 1024n ** 5n * 10n ** 12n,
  Ei: 1024n ** 6n * 10n ** 12n,
}

/**
 * Reads a Kubernetes quantity ("100m", "1.5Gi", 2) without floating point. The grammar comes from
 * k8s.io/apimachinery pkg/api/resource/quantity.go.
 *
 * @returns the value in 10^-12 units, rounded towards zero, or undefined for an invalid quantity
 */
export function readQuantity(value: unknown): bigint | undefined {
  const written = typeof value === 'number' ? String(value) : value
  if (typeof written !== 'string' || written.length > MAX_LENGTH) return undefined
  const match = QUANTITY.exec(written)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0', suffix = ''] = match
  const digits = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`)
  return shift(digits * (SCALE[suffix] ?? 0n), Number(exponent) - fraction.length)
}

/** Multiplies a value by a power of ten. */
function shift(value: bigint, power: number): bigint {
  if (power === 0) return value
  return power < 0 ? value / 10n ** BigInt(-power) : value * 10n ** BigInt(power)
}

const BINARY = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi'] as const
const DECIMAL = ['', 'm', 'u', 'n'] as const

/**
 * Formats a quantity for a message, with the largest suffix (Ei to Mi, none, m, u or n) that gives
 * a whole number: "100m", "32Mi".
 *
 * @param value the quantity in 10^-12 units; a part below 10^-9 is rounded towards zero
 */
export function writeQuantity(value: bigint): string {
  const suffix = [...BINARY, ...DECIMAL].find((name) => isWhole(value, SCALE[name] ?? 1n)) ?? 'n'
  return `${value / (SCALE[suffix] ?? 1n)}${suffix}`
}

function isWhole(value: bigint, scale: bigint): boolean {
  return value % scale === 0n && (value !== 0n || scale === SCALE[''])
}
