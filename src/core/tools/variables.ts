import { optionVariable } from '../catalog.ts'
import { type EnvVar, plain } from '../kubernetes/environment.ts'
import type { RequestedMetric } from '../request.ts'
import type { ToolVariable } from './tool.ts'

/** A variable of the target, with the values of all tools that set it. */
interface JoinedVariable {
  readonly name: string
  readonly values: readonly string[]
  readonly separator: string
}

/**
 * Returns the variables of the metrics' tools. Values of the same variable are joined.
 *
 * @param isWanted selects the variables; by default all
 */
export function joinVariables(
  metrics: readonly RequestedMetric[],
  isWanted: (variable: ToolVariable) => boolean = () => true,
): readonly JoinedVariable[] {
  const joined = new Map<string, JoinedVariable>()
  for (const { metric, options } of metrics) {
    for (const variable of metric.tool?.variables.filter(isWanted) ?? []) {
      const { name, separator = '' } = variable
      const values = [...(joined.get(name)?.values ?? []), textOf(variable, options)]
      joined.set(name, { name, values, separator })
    }
  }
  return [...joined.values()]
}

/** Returns the value of a variable, with `$` escaped. */
function textOf(variable: ToolVariable, options: readonly EnvVar[]): string {
  if ('value' in variable) return plain(variable.name, variable.value).value ?? ''
  const wanted = optionVariable(variable.option)
  return options.find(({ name }) => name === wanted)?.value ?? ''
}
