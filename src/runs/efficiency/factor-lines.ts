import type { Gap } from '../findings/looked-at.ts'
import { FACTORS, type Factor, isLoss, limitText, valueIn } from './factor.ts'

/**
 * Returns the efficiency as lines for a terminal. The first lines have the factors, each with its
 * own factors below it. The next line has the causes of the lost time, and the last line has the
 * factors that are not known.
 *
 * @param gaps the areas that no metric has measured
 */
export function factorLines(root: Factor, gaps: readonly Pick<Gap, 'polled'>[]): readonly string[] {
  if (root.value === null) return []
  const unknown = unknownText(root, gaps)
  return [...products(root, 0), ...losses(root), ...(unknown === '' ? [] : [unknown])]
}

function products(factor: Factor, depth: number): readonly string[] {
  const known = factor.parts.filter(({ value }) => value !== null)
  if (known.length === 0) return []
  const product = known.map((part) => valueText(part, titleOf(part).toLowerCase())).join(' × ')
  const rest = known.length < factor.parts.length ? ' (known factors only)' : ''
  const line = `${'  '.repeat(depth)}${valueText(factor, titleOf(factor))} = ${product}${rest}`
  return [line, ...known.flatMap((part) => products(part, depth + 1))]
}

function titleOf({ name }: Factor): string {
  return FACTORS[name].title
}

function valueText(factor: Factor, title: string): string {
  return `${title} ${limitText(factor)}`
}

/** A factor with at least this value is named only if it is the least of all factors. */
const NEGLIGIBLE = 0.98

/** Returns a line with the causes of the lost time, the greatest cause first. */
function losses(root: Factor): readonly string[] {
  const lost = [...lostIn(root)]
    .sort((a, b) => (a.value ?? 1) - (b.value ?? 1))
    .filter(({ value }, index) => index === 0 || (value ?? 1) < NEGLIGIBLE)
    .map((one) => `${lossOf(one, root)} (${titleOf(one).toLowerCase()})`)
  const percent = Math.round(100 * (1 - (root.value ?? 1)))
  const more = root.least === 0 ? ' or more' : ''
  return lost.length === 0 ? [] : [`The other ${percent} % of the time${more}: ${lost.join(', ')}`]
}

/** Returns the cause of a loss. The platform contains time in MPI if its calls were recorded. */
function lossOf({ name }: Factor, root: Factor): string | null {
  const hasCalls = name === 'platform' && valueIn(root, 'communication') !== null
  return hasCalls ? `${FACTORS[name].loss}, also in MPI for a rank without one` : FACTORS[name].loss
}

/** Returns the factors that say by themselves to what time was lost. */
function lostIn(factor: Factor): readonly Factor[] {
  const isKnown = factor.parts.some(({ value }) => value !== null)
  if (isKnown && factor.name !== 'load-balance') return factor.parts.flatMap(lostIn)
  return isLoss(factor) && FACTORS[factor.name].loss !== null ? [factor] : []
}

/**
 * Returns which factors are not known, each with the reason, and where waiting counts as running;
 * an empty text if there are none.
 */
export function unknownText(root: Factor, gaps: readonly Pick<Gap, 'polled'>[]): string {
  const groups = Map.groupBy(missingIn(root), (one) => one.missing ?? '')
  const factors = [...groups].map(([reason, own]) => {
    return `${own.map((one) => titleOf(one).toLowerCase()).join(', ')}, as ${reason}`
  })
  const waits = gaps.flatMap(({ polled }) => {
    return polled === null
      ? []
      : `waiting in ${polled}, which was not looked at and counts as running`
  })
  const all = root.value === null ? factors : [...factors, ...waits]
  return all.length === 0 ? '' : `Not known: ${all.join('; ')}`
}

function missingIn(factor: Factor): readonly Factor[] {
  return factor.value === null ? [factor] : factor.parts.flatMap(missingIn)
}
