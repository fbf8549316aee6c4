/** Rounds a number to significant digits. Returns any other value, such as null, unchanged. */
export function roundTo<Value>(value: Value, digits: number): Value | number {
  return typeof value === 'number' ? Number(value.toPrecision(digits)) : value
}

/** Rounds to six significant digits, more than a measurement has. */
export function rounded<Value>(value: Value): Value | number {
  return roundTo(value, 6)
}

/** Removes the last digits of a sum or a quotient, which are errors of floating-point numbers. */
export function withoutNoise<Value>(value: Value): Value | number {
  return roundTo(value, 12)
}

/** Rounds for a reader: to three significant digits below 1000, otherwise to an integer. */
export function roundedForReader(value: number): number {
  return Math.abs(value) >= 1000 ? Math.round(value) : roundTo(value, 3)
}

/** Returns a part of a whole as text: `49 %`. */
export function percentText(part: number): string {
  return `${Math.round(part * 100)} %`
}
