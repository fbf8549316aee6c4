/** The outcomes of the tests of a run, by their names. */
export type Outcomes = ReadonlyMap<string, string>

/** What a tool changed in the outcomes of tests. */
export interface Compared {
  /** The number of tests with one outcome in all runs. */
  readonly equal: number
  /** Tests whose outcomes differ between runs without the tool, with one of which it ended. */
  readonly varies: readonly string[]
  /** Tests with an outcome that no run without the tool had, and both outcomes. */
  readonly differs: readonly string[]
}

/**
 * Compares a run with a tool to runs without it, test by test. A test that did not run has the
 * outcome `none`.
 */
export function compareOutcomes(plain: readonly Outcomes[], recorded: Outcomes): Compared {
  const names = [...new Set([...plain, recorded].flatMap((outcomes) => [...outcomes.keys()]))]
  const all = names.map((name) => {
    const usual = [...new Set(plain.map((outcomes) => outcomes.get(name) ?? 'none'))]
    return { name, usual, own: recorded.get(name) ?? 'none' }
  })
  const differs = all.filter(({ usual, own }) => !usual.includes(own))
  const varies = all.filter(({ usual, own }) => usual.includes(own) && usual.length > 1)
  return {
    equal: all.length - differs.length - varies.length,
    varies: varies.map(({ name, usual }) => `${name} (${usual.join(' or ')})`),
    differs: differs.map(({ name, usual, own }) => `${name} (${usual.join(' or ')}, now ${own})`),
  }
}
