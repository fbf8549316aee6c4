import { asFields, type Fields, listOrNone } from '../kubernetes/json.ts'
import type { MainList } from '../rules/observer-difference.ts'

/** The container that a tool is loaded into, as received, and its place in the pod's spec. */
export interface ToolTarget {
  readonly container: Fields
  readonly list: MainList
  readonly index: number
}

/**
 * Finds the target of a tool: an ordinary container or else a native sidecar. An init container
 * without `restartPolicy: Always` is never a target.
 *
 * @param spec the pod's spec as received
 */
export function findToolTarget(spec: Fields, name: string): ToolTarget | undefined {
  return (
    findIn(spec, 'containers', (container) => container.name === name) ??
    findIn(spec, 'initContainers', (container) => {
      return container.name === name && container.restartPolicy === 'Always'
    })
  )
}

function findIn(
  spec: Fields,
  list: MainList,
  isWanted: (container: Fields) => boolean,
): ToolTarget | undefined {
  for (const [index, one] of listOrNone(spec[list]).entries()) {
    const container = asFields(one)
    if (container !== undefined && isWanted(container)) return { container, list, index }
  }
  return undefined
}
