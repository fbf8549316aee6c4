import type { MetricDocument } from '../core/catalog.ts'
import { overlaps } from '../core/rules/tool-conflict.ts'
import { LAUNCH_AGENT_NAMES, UNFORWARDABLE } from '../core/tools/forwarding.ts'
import { MAX_TOOL_NAME_LENGTH, type Tool, type ToolVariable } from '../core/tools/tool.ts'
import { repeated } from './description.ts'

/**
 * Reports a rule for tools that the schema cannot express: the length of the metric's name, two
 * sources of the files, an option that does not exist, a variable or folder that occurs twice,
 * variables with too long names, a value that cannot be forwarded, or mounts of which one contains
 * the other.
 *
 * @returns the field and the rule, as a sentence without the final period
 */
export function toolProblem({ metadata, spec }: MetricDocument): string | undefined {
  const { tool, options = {} } = spec
  if (tool === undefined) return undefined
  if (metadata.name.length > MAX_TOOL_NAME_LENGTH) {
    const most = `at most ${MAX_TOOL_NAME_LENGTH} characters`
    return `metadata.name must have ${most} if the metric has a tool`
  }
  return sourceProblem(tool) ?? variablesProblem(tool, options) ?? mountProblem(tool)
}

/** Reports a tool with no or two sources of its files, or with a folder that it cannot have. */
function sourceProblem({ installer, imageVolume, mounts }: Tool): string | undefined {
  if ((installer === undefined) === (imageVolume === undefined))
    return 'spec.tool must have either installer or imageVolume'
  const index = mounts.findIndex(({ subPath }) => subPath.includes('/'))
  return installer === undefined || index < 0
    ? undefined
    : `spec.tool.mounts.${index}.subPath must have no slash if the tool has an installer`
}

type Options = NonNullable<MetricDocument['spec']['options']>

/**
 * The maximum number of characters in the names of all variables. The status annotation lists these
 * names and has at most MAX_STATUS_LENGTH bytes (src/core/status.ts).
 */
const MAX_VARIABLES_LENGTH = 200

function variablesProblem({ variables }: Tool, options: Options): string | undefined {
  const twice = repeated(variables.map(({ name }) => name))
  if (twice !== undefined) return `spec.tool.variables must have ${twice} only once`
  const length = variables.reduce((total, { name }) => total + name.length, 0)
  if (length > MAX_VARIABLES_LENGTH) {
    const most = `at most ${MAX_VARIABLES_LENGTH} characters, not ${length}`
    return `spec.tool.variables: the names together must have ${most}`
  }
  for (const [index, variable] of variables.entries()) {
    const problem =
      optionProblem(variable, options) ?? forwardingProblem(variable, variables, options)
    if (problem !== undefined) return `spec.tool.variables.${index}${problem}`
  }
  return undefined
}

/** Returns the rest of a sentence about an option that does not exist. */
function optionProblem(variable: ToolVariable, options: Options): string | undefined {
  if (!('option' in variable) || Object.hasOwn(options, variable.option)) return undefined
  const known = Object.keys(options).join(', ') || 'none'
  return `.option must be an option of the metric: ${known}`
}

/** Returns the rest of a sentence about a variable that mpirun cannot forward. */
function forwardingProblem(
  variable: ToolVariable,
  variables: readonly ToolVariable[],
  options: Options,
): string | undefined {
  if (variable.forwardedBy === undefined) return undefined
  const taken = variables.find(({ name }) => LAUNCH_AGENT_NAMES.includes(name))
  if (taken !== undefined) return `.forwardedBy also sets ${taken.name}, a variable of the tool`
  const values = 'value' in variable ? [variable.value] : valuesOf(options[variable.option])
  if (!values.some((value) => UNFORWARDABLE.test(value))) return undefined
  return '.forwardedBy does not allow a value with ", $, `, = or a backslash'
}

/** Returns the texts that an option can have; empty for a number or a boolean. */
function valuesOf(option: Options[string] | undefined): readonly string[] {
  return option?.type === 'string' ? option.enum : []
}

function mountProblem({ installer, mounts, results }: Tool): string | undefined {
  const all = [...mounts, results]
  for (const [index, { subPath, mountPath }] of all.entries()) {
    const earlier = all.slice(0, index)
    const isResults = mounts[index] === undefined
    if (isResults && installer && earlier.some((other) => other.subPath === subPath)) {
      return 'spec.tool.results.subPath must differ from those of spec.tool.mounts'
    }
    const other = earlier.find((one) => overlaps(one.mountPath, mountPath))
    if (other !== undefined) {
      return `spec.tool: the paths ${other.mountPath} and ${mountPath} must not contain each other`
    }
  }
  return undefined
}
