/**
 * The words of `ridealong.dev/inject` that are not names of metrics. The first word of each pair is
 * the word that Ridealong writes itself.
 */
const DEFAULT_WORDS = ['true', 'enabled'] as const
const EXCLUSION_WORDS = ['false', 'disabled'] as const

/** The word that requests the default metrics of the catalog. */
export const [DEFAULT_WORD] = DEFAULT_WORDS

const DEFAULTS: ReadonlySet<string> = new Set(DEFAULT_WORDS)
const EXCLUSIONS: ReadonlySet<string> = new Set(EXCLUSION_WORDS)
const WORDS: readonly string[] = [...DEFAULT_WORDS, ...EXCLUSION_WORDS]

/** A value of `ridealong.dev/inject`. */
export type MetricList =
  | { readonly kind: 'empty' }
  /** Only `false` or `disabled`. */
  | { readonly kind: 'excluded' }
  /** Names of metrics and words, without blanks and repetitions, in the order of the value. */
  | { readonly kind: 'items'; readonly items: readonly string[] }

/**
 * Parses a value of `ridealong.dev/inject`: items separated by commas. Blanks around items, empty
 * items and repetitions are ignored.
 */
export function parseMetricList(written: string): MetricList {
  const items = new Set<string>()
  for (const item of written.split(',')) items.add(item.trim())
  items.delete('')
  if (items.size === 0) return { kind: 'empty' }
  const listed = [...items]
  return listed.every(isExclusionWord) ? { kind: 'excluded' } : { kind: 'items', items: listed }
}

/** Reports whether an item requests the default metrics of the catalog. */
export function isDefaultWord(item: string): boolean {
  return DEFAULTS.has(item)
}

/** Reports whether an item excludes a pod. */
export function isExclusionWord(item: string): boolean {
  return EXCLUSIONS.has(item)
}

/** Returns the word that an item would be in lower case, such as `true` for `True`. */
export function wordInLowerCase(item: string): string | undefined {
  return WORDS.find((word) => word === item.toLowerCase())
}
