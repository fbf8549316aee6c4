import { capitalized } from '../../lib/capitalized.ts'
import { FACTORS, type Factor, factorText, isLoss } from './factor.ts'

/**
 * Returns the efficiency as lines for a terminal: each factor with the product that it is, below
 * the factor of which it is a part, then to what the rest was lost, and the reasons why factors are
 * not known.
 */
export function factorLines(root: Factor): readonly string[] {
  if (root.value === null) return []
  return [...products(root, 0), ...losses(root), ...reasons(root)]
}

function products(factor: Factor, depth: number): readonly string[] {
  const known = factor.parts.filter(({ value }) => value !== null)
  if (known.length === 0) return []
  const product = factor.parts.map((part) => valueText(part, titleOf(part).toLowerCase()))
  const line = `${'  '.repeat(depth)}${valueText(factor, titleOf(factor))} = ${product.join(' × ')}`
  return [line, ...known.flatMap((part) => products(part, depth + 1))]
}

function titleOf({ name }: Factor): string {
  return FACTORS[name].title
}

function valueText({ value }: Factor, title: string): string {
  return value === null ? `${title} (not known)` : `${title} ${factorText(value)}`
}

/** Returns a line that says to what time was lost, the most first. */
function losses(root: Factor): readonly string[] {
  const lost = [...lostIn(root)]
    .sort((a, b) => (a.value ?? 1) - (b.value ?? 1))
    .map((one) => `${FACTORS[one.name].loss} (${titleOf(one).toLowerCase()})`)
  return lost.length === 0 ? [] : [`Time was lost to: ${lost.join(', ')}`]
}

/** Returns the factors that say by themselves to what time was lost. */
function lostIn(factor: Factor): readonly Factor[] {
  const isKnown = factor.parts.some(({ value }) => value !== null)
  if (isKnown && factor.name !== 'load-balance') return factor.parts.flatMap(lostIn)
  return isLoss(factor) && FACTORS[factor.name].loss !== null ? [factor] : []
}

/** Returns a line for each reason why factors of a known one are not known. */
function reasons(root: Factor): readonly string[] {
  const missing = missingIn(root)
  const groups = Map.groupBy(missing, (one) => one.missing ?? '')
  return [...groups].map(([reason, own]) => {
    const [first = '', ...others] = own.map((one) => titleOf(one).toLowerCase())
    const named = [capitalized(first), ...others].join(', ')
    return `${named}: not known: ${reason}`
  })
}

function missingIn({ parts }: Factor): readonly Factor[] {
  return parts.flatMap((part) => (part.value === null ? [part] : missingIn(part)))
}
