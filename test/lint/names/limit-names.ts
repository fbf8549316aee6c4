import type { Problem, SourceFile } from '../problem.ts'

/** TypeScript, Rust, C and Python, without the tests of this rule. */
const CHECKED = /^(?!test\/lint\/).*\.(tsx?|rs|[ch]|py)$/

const SUPERLATIVE = /\b(LONGEST|MOST|LEAST|FEWEST)(?:_[A-Z0-9_]+)?\b/g

/** Finds limits that are not named MAX or MIN. */
export function findLimitNames({ path, text }: SourceFile): readonly Problem[] {
  if (!CHECKED.test(path)) return []
  return [...text.matchAll(SUPERLATIVE)].map(({ 0: name, 1: word = '', index }) => {
    const right = ['LONGEST', 'MOST'].includes(word) ? 'MAX' : 'MIN'
    const line = text.slice(0, index).split('\n').length
    return { path, line, message: `a limit begins with ${right}, not ${word}: ${name}` }
  })
}
