import type { Decision } from '../../core/decision.ts'
import { joinVariables } from '../../core/tools/additions.ts'
import { installerName } from '../../core/tools/tool.ts'
import { type Finding, find } from './finding.ts'
import type { InjectionOutcome } from './injection-outcome.ts'

/**
 * Returns the findings about the tools of a pod: what each adds, and the limits that depend on the
 * image and the programs of the target, which are not known when the pod is created. Returns no
 * findings if the pod would get no tools, or if the outcome of the created pod is not `injected`.
 *
 * @param out the outcome of the pod, if it was created
 */
export function toolFindings(
  decision: Decision,
  out: InjectionOutcome | undefined,
): readonly Finding[] {
  if (decision.outcome !== 'injected' || (out !== undefined && out.outcome !== 'injected'))
    return []
  const { observers, target } = decision
  const tools = observers.flatMap(({ metric: { name, tool } }) => (tool ? [{ name, tool }] : []))
  if (tools.length === 0) return []
  const variables = joinVariables(observers).map(({ name }) => name)
  return [
    ...tools.map(({ name, tool }) => {
      const variables = tool.variables.map((variable) => variable.name).join(', ')
      const paths = [...tool.mounts, tool.results].map(({ mountPath }) => mountPath).join(', ')
      const sentence =
        `the init container ${installerName(name)} (image ${tool.installer.image}) copies the ` +
        `library to a volume of at most ${tool.sizeLimit}; container ${target} gets the ` +
        `variables ${variables} and the paths ${paths}`
      return find(`tool ${name}`, 'ok', sentence)
    }),
    find('loading', 'unknown', `${UNLOADED}; ${REPLACED}`),
    find('processes', 'unknown', `${KILLED}; ${remote(variables)}`),
    find('drain', 'look', DRAIN),
  ]
}

const UNLOADED = 'static programs, and programs with another libc than the tool, run without it'
const REPLACED = 'variables that only the image sets are not known, and the tool replaces them'
const KILLED =
  'a process that SIGKILL ends, or that clears its environment, writes no complete result'
const DRAIN = 'the volume is an emptyDir: kubectl drain needs --delete-emptydir-data for this pod'

function remote(variables: readonly string[]): string {
  const flags = variables.map((name) => `-x ${name}`).join(' ')
  return `ssh passes no variables to other pods: use mpirun ${flags}`
}
