import { asObjects, asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { quote } from '../text/quote.ts'
import { type Forwarding, LAUNCH_AGENT_NAMES } from '../tools/forwarding.ts'
import type { Tool, ToolVariable } from '../tools/tool.ts'
import type { MetricProblem } from './left-metric.ts'

/** A tool, and the name of its metric. */
export interface NamedTool {
  readonly name: string
  readonly tool: Tool
}

/** Returns the tools of metrics. Most metrics have none. */
export function findTools(
  metrics: readonly {
    readonly metric: { readonly name: string; readonly tool?: Tool | undefined }
  }[],
): readonly NamedTool[] {
  return metrics.flatMap(({ metric: { name, tool } }) => (tool === undefined ? [] : { name, tool }))
}

/** Adds the variables with which mpirun forwards variables to the first tool that it forwards. */
export function withLaunchAgents({ name, tool }: NamedTool, { metrics }: Forwarding): NamedTool {
  if (name !== metrics[0]?.metric.name) return { name, tool }
  const agents = LAUNCH_AGENT_NAMES.map((agent) => ({ name: agent, value: '' }))
  return { name, tool: { ...tool, variables: [...tool.variables, ...agents] } }
}

/**
 * Finds a setting of the target, or of another tool, that a tool would replace: a variable, or a
 * path at which a volume is mounted.
 *
 * @param target the target as received, a core/v1 Container whose lists are lists
 * @param earlier the tools that the target has or will have
 * @returns undefined if there is no conflict
 */
export function findToolConflict(
  target: Fields,
  tool: NamedTool,
  earlier: readonly NamedTool[] = [],
): MetricProblem | undefined {
  const container = nameContainer(target)
  return (
    variableConflict(target, container, tool, earlier) ??
    pathConflict(target, container, tool, earlier)
  )
}

/** Returns a message about a field of the target of tools that must be a list and is none. */
export function findListProblem(target: Fields): string | undefined {
  const wrong = LISTS.find((key) => !Array.isArray(target[key] ?? []))
  return wrong && `${wrong} of ${nameContainer(target)} must be a list`
}

const LISTS = ['env', 'envFrom', 'volumeMounts', 'volumeDevices'] as const

function nameContainer({ name }: Fields): string {
  return `container ${quote(asText(name) ?? '')}`
}

/** The variables that a container has or may have. */
interface Variables {
  readonly present: ReadonlySet<unknown>
  /** The variables that are not set if their key does not exist. */
  readonly optional: ReadonlySet<unknown>
  /** The prefixes of variables from a ConfigMap or Secret, whose keys are not known. */
  readonly prefixes: readonly string[]
}

function variableConflict(
  target: Fields,
  container: string,
  { name: metric, tool }: NamedTool,
  earlier: readonly NamedTool[],
): MetricProblem | undefined {
  const variables = {
    present: new Set(asObjects(target.env).map(({ name }) => name)),
    optional: new Set(
      asObjects(target.env)
        .filter(isOptional)
        .map(({ name }) => name),
    ),
    prefixes: asObjects(target.envFrom).map(({ prefix }) => asText(prefix) ?? ''),
  }
  for (const variable of tool.variables) {
    const owner = otherSetter(variable, earlier) ?? ownerIn(variables, variable, container)
    if (owner !== undefined) return variableTaken(metric, variable, owner)
  }
  return undefined
}

function variableTaken(metric: string, { name }: ToolVariable, owner: string): MetricProblem {
  const message = `metric ${metric} sets the variable ${name}, which ${owner}`
  return { reason: 'variable-taken', message }
}

/** Returns a clause about a tool that sets the same variable and does not join it. */
function otherSetter(
  { name, separator }: ToolVariable,
  tools: readonly NamedTool[],
): string | undefined {
  const isOther = (one: ToolVariable) =>
    one.name === name && (separator === undefined || one.separator !== separator)
  const other = tools.find(({ tool }) => tool.variables.some(isOther))
  return other && `metric ${other.name} also sets`
}

/**
 * Reports whether a variable may be missing in the container: the value is a key of a ConfigMap,
 * Secret or file, and the key is optional. The kubelet would not replace $(NAME) by the value of
 * such a variable (kubernetes v1.36 pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
 */
function isOptional({ valueFrom }: Fields): boolean {
  return Object.values(fieldsOrNone(valueFrom)).some((source) => {
    return fieldsOrNone(source).optional === true
  })
}

function ownerIn(
  { present, optional, prefixes }: Variables,
  { name, separator }: ToolVariable,
  container: string,
): string | undefined {
  if (optional.has(name))
    return `${container} may get from an optional key of a ConfigMap, Secret or file`
  if (present.has(name)) return separator === undefined ? `${container} already has` : undefined
  const isUnknown = prefixes.some((prefix) => name.startsWith(prefix))
  return isUnknown ? `${container} may get from its envFrom` : undefined
}

/** A path at which a volume is mounted. */
interface Mounted {
  readonly path: string
  readonly owner: string
}

/**
 * Finds two mounts of which one contains the other. If the target mounts a volume above the path of
 * a tool, the container runtime would create a folder in this volume.
 */
function pathConflict(
  target: Fields,
  container: string,
  { name, tool }: NamedTool,
  earlier: readonly NamedTool[],
): MetricProblem | undefined {
  const taken: Mounted[] = [
    ...asObjects(target.volumeMounts).map(({ mountPath }) => mountPath),
    ...asObjects(target.volumeDevices).map(({ devicePath }) => devicePath),
    // The kubelet mounts a file at this path (kubernetes v1.36 pkg/kubelet/kuberuntime,
    // makeMounts).
    target.terminationMessagePath,
  ].flatMap((path) => {
    const text = asText(path) ?? ''
    return text === '' ? [] : { path: normalize(text), owner: container }
  })
  taken.push(...earlier.flatMap(pathsOf))
  for (const { path, owner } of pathsOf({ name, tool })) {
    const other = taken.find((mounted) => overlaps(mounted.path, path))
    if (other !== undefined) return pathTaken(name, path, other)
    taken.push({ path, owner })
  }
  return undefined
}

function pathsOf({ name, tool: { mounts, results } }: NamedTool): readonly Mounted[] {
  return [...mounts, results].map(({ mountPath }) => ({ path: mountPath, owner: `metric ${name}` }))
}

function pathTaken(metric: string, path: string, { path: taken, owner }: Mounted): MetricProblem {
  const message = `metric ${metric} needs the path ${path}, but ${owner} has a mount at`
  return { reason: 'path-taken', message: `${message} ${quote(taken)}` }
}

/** Returns an absolute path without repeated slashes, `.` and `..`. */
function normalize(path: string): string {
  const steps: string[] = []
  for (const step of path.split('/')) {
    if (step === '..') steps.pop()
    else if (step !== '' && step !== '.') steps.push(step)
  }
  return `/${steps.join('/')}`
}

/** Reports whether one of two normalized paths is the other, or contains the other. */
export function overlaps(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one)
}

function contains(parent: string, path: string): boolean {
  if (!path.startsWith(parent)) return false
  return path.length === parent.length || parent === '/' || path[parent.length] === '/'
}
