import { OUTPUT_FORMATS } from '../../src/lib/output-format.ts'

/** The formats of a comparison: those of every verb, and a page. */
export const COMPARISON_FORMATS = [...OUTPUT_FORMATS, 'html'] as const

export type ComparisonFormat = (typeof COMPARISON_FORMATS)[number]
