const TYPES = { and: 'conjunction', or: 'disjunction' } as const

/** Joins words for people: `a`, `a and b`, `a, b, and c`. */
export function formatList(words: readonly string[], last: 'and' | 'or'): string {
  return new Intl.ListFormat('en', { type: TYPES[last] }).format(words)
}
