import type { MetricDocument } from '../core/catalog.ts'
import { overlaps } from '../core/rules/tool-conflict.ts'
import { LONGEST_TOOL_NAME, type Tool } from '../core/tools/tool.ts'
import { repeated } from './description.ts'

/**
 * Reports a rule for tools that the schema cannot express: the length of the metric's name, an
 * option that does not exist, a variable or folder that occurs twice, variables with too long
 * names, or mounts of which one contains the other.
 *
 * @returns the field and the rule, as a sentence without the final period
 */
export function toolProblem({ metadata, spec }: MetricDocument): string | undefined {
  const { tool, options = {} } = spec
  if (tool === undefined) return undefined
  if (metadata.name.length > LONGEST_TOOL_NAME) {
    const most = `at most ${LONGEST_TOOL_NAME} characters`
    return `metadata.name must have ${most} if the metric has a tool`
  }
  return variableProblem(tool, new Set(Object.keys(options))) ?? mountProblem(tool)
}

/**
 * The maximum number of characters in the names of all variables. The status annotation lists these
 * names and has at most 512 bytes.
 */
const LONGEST_VARIABLES = 200

function variableProblem({ variables }: Tool, options: ReadonlySet<string>): string | undefined {
  const twice = repeated(variables.map(({ name }) => name))
  if (twice !== undefined) return `spec.tool.variables must have ${twice} only once`
  const length = variables.reduce((total, { name }) => total + name.length, 0)
  if (length > LONGEST_VARIABLES) {
    const most = `at most ${LONGEST_VARIABLES} characters, not ${length}`
    return `spec.tool.variables: the names together must have ${most}`
  }
  for (const [index, variable] of variables.entries()) {
    if (!('option' in variable) || options.has(variable.option)) continue
    const known = [...options].join(', ') || 'none'
    return `spec.tool.variables.${index}.option must be an option of the metric: ${known}`
  }
  return undefined
}

function mountProblem({ mounts, results }: Tool): string | undefined {
  const all = [...mounts, results]
  for (const [index, { subPath, mountPath }] of all.entries()) {
    const earlier = all.slice(0, index)
    if (mounts[index] === undefined && earlier.some((other) => other.subPath === subPath)) {
      return 'spec.tool.results.subPath must differ from those of spec.tool.mounts'
    }
    const other = earlier.find((one) => overlaps(one.mountPath, mountPath))
    if (other !== undefined) {
      return `spec.tool: the paths ${other.mountPath} and ${mountPath} must not contain each other`
    }
  }
  return undefined
}
