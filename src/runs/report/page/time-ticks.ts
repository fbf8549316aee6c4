/** The possible distances between two ticks of an axis of time, in seconds. */
export const TIME_STEPS = [
  0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400,
  604_800,
]

/** Returns the times of at most `most` ticks from 0 to the end, in seconds. */
export function timeTicks(end: number, most: number): readonly number[] {
  const step = TIME_STEPS.find((one) => end / one <= most) ?? end
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, tick) => tick * step)
}
