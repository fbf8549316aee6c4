/**
 * Returns the limits between which the median of all runs lies with a confidence of at least 95 %,
 * given some of them. The limits are two of the values, whose order follows the binomial
 * distribution (W. J. Conover, Practical Nonparametric Statistics, 3.2). Fewer than six values have
 * no such limits; then the result is undefined.
 */
export function medianInterval(values: readonly number[]): readonly [number, number] | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const { length } = sorted
  let [outside, below, cumulated] = [-1, 0.5 ** length, 0]
  for (let rank = 0; rank < length && cumulated + below <= 0.025; rank += 1) {
    cumulated += below
    below *= (length - rank) / (rank + 1)
    outside = rank
  }
  const [low, high] = [sorted[outside], sorted[length - 1 - outside]]
  return low === undefined || high === undefined ? undefined : [low, high]
}
