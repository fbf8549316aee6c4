import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'

/**
 * Finds the first requirement of a meta/v1 LabelSelector that labels do not meet. An empty selector
 * selects everything.
 *
 * @returns the key and the text of the requirement; undefined if the labels are selected
 */
export function unmetIn(
  selector: unknown,
  labels: Fields,
): { readonly key: string; readonly text: string } | undefined {
  const { matchLabels, matchExpressions } = fieldsOrNone(selector)
  for (const [key, value] of Object.entries(fieldsOrNone(matchLabels))) {
    if (labels[key] !== value) return { key, text: `${key}=${String(value)}` }
  }
  for (const expression of listOrNone(matchExpressions).map(fieldsOrNone)) {
    if (!isMet(expression, labels))
      return { key: asText(expression.key) ?? '', text: said(expression) }
  }
  return undefined
}

/** NotIn also matches objects without the label (apimachinery pkg/labels/selector.go). */
function isMet({ key, operator, values }: Fields, labels: Fields): boolean {
  const label = Object.hasOwn(labels, String(key)) ? labels[String(key)] : undefined
  const isListed = label !== undefined && listOrNone(values).includes(label)
  if (operator === 'In') return isListed
  if (operator === 'NotIn') return !isListed
  return operator === 'Exists' ? label !== undefined : label === undefined
}

function said({ key, operator, values }: Fields): string {
  const listed = listOrNone(values).join(', ')
  return listed === '' ? `${key} ${operator}` : `${key} ${operator} (${listed})`
}
