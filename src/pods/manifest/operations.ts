import { type Fields, listOrNone } from '../../core/kubernetes/json.ts'
import type { Operation } from '../../core/patch.ts'
import type { Extension } from './extend.ts'
import type { Step } from './yaml/nodes.ts'

/**
 * Converts the operations of a patch to extensions. All items that are added to one list become one
 * extension.
 */
export function toExtensions(operations: readonly Operation[]): readonly Extension[] {
  const extensions = new Map<string, Extension>()
  for (const operation of operations) {
    if (operation.op !== 'add') throw new Error(`a patch operation is ${operation.op}, not add`)
    const extension = toExtension(parsePointer(operation.path), operation.value)
    const key = extension.path.join('/')
    extensions.set(key, joined(extensions.get(key), extension))
  }
  return [...extensions.values()]
}

function toExtension(steps: readonly Step[], value: unknown): Extension {
  const [parent, last = ''] = [steps.slice(0, -1), steps.at(-1)]
  if (last === '-') return { path: parent, first: [], items: [value] }
  // The patch inserts items only at the beginning of a list, in their order.
  if (/^\d+$/.test(String(last))) return { path: parent, first: [value], items: [] }
  if (Array.isArray(value)) return { path: steps, first: [], items: listOrNone(value) }
  if (last === 'annotations') return { path: steps, entries: value as Fields }
  return { path: parent, entries: { [last]: value } }
}

function joined(first: Extension | undefined, second: Extension): Extension {
  if (first === undefined) return second
  const { path } = first
  if ('items' in first && 'items' in second) {
    const inserted = [...first.first, ...second.first]
    return { path, first: inserted, items: [...first.items, ...second.items] }
  }
  if ('entries' in first && 'entries' in second)
    return { path, entries: { ...first.entries, ...second.entries } }
  throw new Error(`a patch uses ${path.join('.')} as a map and as a list`)
}

/** Parses an RFC 6901 JSON pointer. */
function parsePointer(pointer: string): readonly Step[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
