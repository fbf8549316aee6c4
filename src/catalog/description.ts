import { Ajv } from 'ajv'
import type { RowsDescription } from '../core/catalog.ts'
import schema from './metric.schema.json' with { type: 'json' }

const ajv = new Ajv({ strict: true, strictRequired: false, strictTypes: false }).addSchema(schema)

const isDescription = ajv.compile({ $ref: `${schema.$id}#/definitions/rows` })

/**
 * Reads a description of rows that is not from a catalog, such as a description in the output of
 * `collect`.
 *
 * @returns undefined if it is invalid
 */
export function readDescription(value: unknown): RowsDescription | undefined {
  if (!isDescription(value)) return undefined
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
  for (const { name, columns } of [...sections, ...summary]) {
    const column = repeated(columns.map((one) => one.name))
    if (column !== undefined)
      return `sections: section ${name} must not have column ${column} twice`
  }
  return undefined
}

/** Returns the first name that occurs a second time. */
export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}
