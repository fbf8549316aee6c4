import { FACTORS, type Factor, factorText, isLoss, limitText } from './factor.ts'

/** A factor as the page shows it. */
export interface ShownFactor {
  readonly title: string
  readonly meaning: string
  /** To what the rest was lost; null if it is 0 or unknown, or the factors below say it. */
  readonly loss: string | null
  /** 0 for the efficiency, 1 for its factors, and so on. */
  readonly depth: number
  /** From 0 to 1; null if it cannot be computed. */
  readonly value: number | null
  /** The value for people, or the reason why there is none. */
  readonly text: string
}

/** The least distance from the least value that is shown. */
const SHOWN_DISTANCE = 0.05

/** Returns the efficiency and its factors, each before the factors of which it is the product. */
export function shownFactors(root: Factor, depth = 0): readonly ShownFactor[] {
  const { name, value, missing, parts } = root
  const text = value === null ? `not known: ${missing}` : valueText(root)
  const loss = isLoss(root) ? FACTORS[name].loss : null
  return [
    { ...FACTORS[name], loss, depth, value, text },
    ...parts.flatMap((part) => shownFactors(part, depth + 1)),
  ]
}

function valueText({ value, least }: Factor): string {
  const text = limitText({ value, least })
  const isFar = least !== null && least > 0 && (value ?? 0) - least >= SHOWN_DISTANCE
  return isFar ? `${text}, at least ${factorText(least)}` : text
}
