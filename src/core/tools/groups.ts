import { readQuantity, writeQuantity } from '../kubernetes/quantity.ts'
import { type InstallerContainer, type Tool, toolImage } from './tool.ts'

/** A metric that may have a tool. */
interface Item {
  readonly metric: { readonly name: string; readonly tool?: Tool | undefined }
}

/** An item whose metric has a tool. */
export interface Member<T extends Item> {
  readonly item: T
  readonly tool: Tool
}

/** The items whose tools have the same installer, or the same image volume, and the same volume. */
export type ToolGroup<T extends Item> = readonly [Member<T>, ...Member<T>[]]

/**
 * Groups the items that have tools. Tools with the same image and command have one installer, or
 * one image volume, and one volume for their results, unless a tool would write its results into a
 * folder of another tool. The groups are in the order of their first items.
 */
export function groupTools<T extends Item>(items: readonly T[]): readonly ToolGroup<T>[] {
  const groups: ToolGroup<T>[] = []
  for (const item of items) {
    const { tool } = item.metric
    if (tool === undefined) continue
    const index = groups.findIndex((group) => canShare(group, tool))
    const group = groups[index]
    if (group === undefined) groups.push([{ item, tool }])
    else groups[index] = [...group, { item, tool }]
  }
  return groups
}

function canShare<T extends Item>(group: ToolGroup<T>, tool: Tool): boolean {
  const runsSame = programOf(group[0].tool) === programOf(tool)
  return runsSame && group.every((member) => !writesInto(member.tool, tool))
}

/** Returns the image of a tool and the command of its installer as one text. */
function programOf(tool: Tool): string {
  const { image, imagePullPolicy = 'IfNotPresent' } = toolImage(tool)
  const { command = [], args = [] } = tool.installer ?? {}
  return JSON.stringify([image, imagePullPolicy, tool.installer && [command, args]])
}

/** Reports whether one of two tools would write its results into a folder of the other. */
function writesInto(one: Tool, other: Tool): boolean {
  const foldersOf = ({ installer, mounts, results }: Tool) =>
    [...(installer === undefined ? [] : mounts), results].map((each) => each.subPath)
  return (
    foldersOf(one).includes(other.results.subPath) || foldersOf(other).includes(one.results.subPath)
  )
}

/** Returns the size limit of the volume of a group: the sum of the limits of its tools. */
export function sizeLimitOf<T extends Item>(group: ToolGroup<T>): string {
  const [{ tool }] = group
  if (group.length === 1) return tool.sizeLimit
  return writeQuantity(
    group.reduce((sum, member) => sum + (readQuantity(member.tool.sizeLimit) ?? 0n), 0n),
  )
}

type Limits = InstallerContainer['resources']['limits']

/**
 * Returns the limits of the installer of a group: of each resource, the greatest of its tools.
 * Returns undefined if the tools have no installer.
 */
export function installerLimits<T extends Item>(group: ToolGroup<T>): Limits | undefined {
  const all = group.flatMap(({ tool }) => tool.installer?.resources.limits ?? [])
  return all.reduce<Limits | undefined>(
    (one, other) =>
      one === undefined
        ? other
        : { cpu: greater(one.cpu, other.cpu), memory: greater(one.memory, other.memory) },
    undefined,
  )
}

function greater(one: string, other: string): string {
  return (readQuantity(other) ?? 0n) > (readQuantity(one) ?? 0n) ? other : one
}
