const INDENT = '  '

/**
 * Formats a value as indented JSON, in which a list of numbers and texts is one line. The values
 * over time of a report would otherwise have a line each.
 */
export function jsonText(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}${INDENT}`
  if (Array.isArray(value)) {
    if (value.every(isScalar)) return `[${value.map((one) => JSON.stringify(one)).join(', ')}]`
    return bracket(
      ['[', ']'],
      value.map((one) => jsonText(one, inner)),
      indent,
    )
  }
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  const lines = entries.map(([key, one]) => `${JSON.stringify(key)}: ${jsonText(one, inner)}`)
  return lines.length === 0 ? '{}' : bracket(['{', '}'], lines, indent)
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function bracket(
  [open, close]: readonly [string, string],
  lines: readonly string[],
  indent: string,
): string {
  const inner = `\n${indent}${INDENT}`
  return `${open}${inner}${lines.join(`,${inner}`)}\n${indent}${close}`
}
