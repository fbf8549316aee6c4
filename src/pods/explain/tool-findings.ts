import type { Decision, Injected, Observer } from '../../core/decision.ts'
import { findTools, type NamedTool } from '../../core/rules/tool-conflict.ts'
import { forwards, LAUNCH_AGENT_NAMES } from '../../core/tools/forwarding.ts'
import { groupTools, type Member, sizeLimitOf, type ToolGroup } from '../../core/tools/groups.ts'
import { installerName, type Tool, toolImage } from '../../core/tools/tool.ts'
import { joinVariables } from '../../core/tools/variables.ts'
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
  const { observers, target, forwarding } = decision
  const tools = findTools(observers)
  if (tools.length === 0) return []
  const variables = joinVariables(observers).map(({ name }) => name)
  return [
    ...groupTools(observers).flatMap((group) => {
      return group.map((member) =>
        find(`tool ${nameOf(member)}`, 'ok', added(member, group, target)),
      )
    }),
    find('loading', 'unknown', `${UNLOADED}; ${REPLACED}`),
    ...(forwarding.isLauncher
      ? [find('processes', 'unknown', KILLED), ...tools.map((tool) => forwardingOf(tool, decision))]
      : [find('processes', 'unknown', `${KILLED}; ${remote(variables)}`)]),
    find('drain', 'look', DRAIN),
  ]
}

function nameOf({ item }: Member<Observer>): string {
  return item.metric.name
}

/** Describes what a tool adds to a pod. */
function added(member: Member<Observer>, group: ToolGroup<Observer>, target: string): string {
  const { tool } = member
  const variables = tool.variables.map((variable) => variable.name).join(', ')
  const paths = [...tool.mounts, tool.results].map(({ mountPath }) => mountPath).join(', ')
  const others = group.filter((other) => other !== member).map(nameOf)
  const shared = others.length === 0 ? '' : `, which also has the tool of ${others.join(', ')}`
  return (
    `${sourceOf(tool, nameOf(group[0]))} a volume of at most ` +
    `${sizeLimitOf(group)}${shared}; container ${target} gets the variables ${variables} ` +
    `and the paths ${paths}`
  )
}

/** Returns the beginning of a sentence that ends with a volume. */
function sourceOf(tool: Tool, first: string): string {
  const { image } = toolImage(tool)
  return tool.installer === undefined
    ? `the library is mounted from its image ${image}, and its results are written to`
    : `the init container ${installerName(first)} (image ${image}) copies the library to`
}

const UNLOADED = 'static programs, and programs with another libc than the tool, run without it'
const REPLACED = 'variables that only the image sets are not known, and the tool replaces them'
const KILLED =
  'a process that SIGKILL ends, or that clears its environment, writes no complete result'
const DRAIN = 'the volume is an emptyDir: kubectl drain needs --delete-emptydir-data for this pod'

function remote(variables: readonly string[]): string {
  return `ssh passes no variables to other pods: use mpirun ${flagsFor(variables)}`
}

function flagsFor(variables: readonly string[]): string {
  return variables.map((name) => `-x ${name}`).join(' ')
}

/** Returns the finding about the variables of a tool that mpirun in a launcher passes to ranks. */
function forwardingOf({ name, tool }: NamedTool, { forwarding }: Injected): Finding {
  const title = `ranks of ${name}`
  const [forwarded, others] = ['open-mpi', undefined].map((by) => {
    return tool.variables.filter(({ forwardedBy }) => forwardedBy === by).map((one) => one.name)
  }) as [string[], string[]]
  if (forwarding.metrics.some(({ metric }) => metric.name === name)) {
    const passed = `mpirun of Open MPI passes ${forwarded.join(', ')} to the ranks in other pods`
    const kept = others.length === 0 ? '' : `, but not ${others.join(', ')}`
    return find(title, 'ok', `${passed}${kept} (${LAUNCH_AGENT_NAMES.join(', ')}); ${HYDRA}`)
  }
  const why = forwards(tool)
    ? 'the request does not select all pods'
    : 'the catalog does not say that mpirun forwards its variables (forwardedBy)'
  const use = `Open MPI needs mpirun ${flagsFor([...forwarded, ...others])}`
  return find(title, 'look', `not forwarded: ${why}; ${use}; ${HYDRA}`)
}

const HYDRA = 'mpirun of MPICH and of Intel MPI passes all variables'
