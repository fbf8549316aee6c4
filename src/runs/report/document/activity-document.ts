import { type ActivityData, STATES } from '../first-screen/activity-data.ts'

/** Returns for programs what the ranks did over time. */
export function activityDocument({ buckets, lines }: ActivityData) {
  return {
    seconds_per_interval: buckets.width,
    intervals: buckets.count,
    lines: lines.map(({ name, count, percents }) => ({
      name,
      count,
      percents: Object.fromEntries(STATES.map((state, index) => [state, percents[index] ?? []])),
    })),
  }
}
