/** A meta/v1 LabelSelectorRequirement. */
export interface Requirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

const KEY = String.raw`(?<key>[\w./-]+)`
const FORMS = [
  new RegExp(String.raw`^${KEY}\s*(?<sign>==?|!=)\s*(?<values>[\w.-]*)$`),
  new RegExp(String.raw`^${KEY}\s+(?<sign>in|notin)\s*\((?<values>[^()]*)\)$`),
  new RegExp(String.raw`^(?<sign>!?)\s*${KEY}$`),
]

const OPERATORS: Readonly<Record<string, Requirement['operator']>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  '!': 'DoesNotExist',
  '': 'Exists',
}

/**
 * Parses a label selector in the syntax of kubectl: `app=web,tier!=db,run in (a, b),!legacy`
 * (apimachinery pkg/labels/selector.go).
 *
 * @returns the requirements, all of which must match, or the first part that is not a valid
 * requirement
 */
export function readSelector(text: string): readonly Requirement[] | { readonly problem: string } {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim())
  const requirements = parts.map(readRequirement)
  const wrong = requirements.indexOf(undefined)
  if (wrong >= 0) return { problem: parts[wrong] ?? '' }
  return requirements.filter((requirement) => requirement !== undefined)
}

function readRequirement(part: string): Requirement | undefined {
  const groups = FORMS.map((form) => form.exec(part)?.groups).find((found) => found !== undefined)
  if (groups === undefined) return undefined
  const { key = '', sign = '', values } = groups
  const operator = OPERATORS[sign] ?? 'Exists'
  if (values === undefined) return { key, operator }
  return { key, operator, values: values.split(',').map((value) => value.trim()) }
}
