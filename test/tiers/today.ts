/** Returns the number of today, counted from the first day of 1970: tests take turns by it. */
export function today(): number {
  return Math.floor(Date.now() / 86_400_000)
}
