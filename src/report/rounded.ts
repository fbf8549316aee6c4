/** Rounds to six significant digits, more than a measurement has. */
export function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
