import type { RowColumn, RowSection, RowsDescription } from '../core/catalog.ts'
import { quantityOfExport } from '../core/rules/quantity.ts'
import { schemaProblem } from './schema-problem.ts'

/**
 * Reads a description of rows that is not from a catalog, such as a description in the output of
 * `collect`.
 *
 * @returns undefined if it is invalid
 */
export function readDescription(value: unknown): RowsDescription | undefined {
  if (schemaProblem('rows', value) !== undefined) return undefined
  const description = value as unknown as RowsDescription
  return descriptionProblem(description) === undefined ? description : undefined
}

/**
 * Checks the rules that the schema cannot express. Returns the place and the problem, or undefined
 * if the description is valid.
 */
export function descriptionProblem(description: RowsDescription): string | undefined {
  const { format, sections, summary = [] } = description
  const of = format === 'iostat' ? 'device' : 'process'
  if (format !== 'jsonl' && (sections.length > 1 || sections[0]?.of !== of))
    return `sections must be one section with of: ${of}, because the format is ${format}`
  const twin = repeated([...sections, ...summary].map(({ name }) => name))
  if (twin !== undefined) return `sections must not have ${twin} twice`
  return [...sections, ...summary].map(columnProblem).find((one) => one !== undefined)
}

function columnProblem({ name, columns }: RowSection): string | undefined {
  const column = repeated(columns.map((one) => one.name))
  if (column !== undefined) return `sections: section ${name} must not have column ${column} twice`
  const problem = columns.map(quantityProblem).find((one) => one !== undefined)
  return problem && `sections: section ${name}: ${problem}`
}

/** Reports a quantity that is written in another way than that of another column, or twice. */
function quantityProblem({ name, quantity, otlp }: RowColumn): string | undefined {
  if (quantity === undefined) return undefined
  if (otlp !== undefined && quantityOfExport(otlp) === quantity)
    return `column ${name} must not repeat in quantity what its otlp says`
  const [, attributes = ''] = /[{](.*)[}]$/.exec(quantity) ?? []
  const sorted = attributes.split(',').sort().join(',')
  return sorted === attributes
    ? undefined
    : `the attributes in the quantity of column ${name} must be sorted: ${sorted}`
}

/** Returns the first name that occurs a second time. */
export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}
