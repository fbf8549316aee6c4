import { asFields, type Fields } from '../../../core/kubernetes/json.ts'
import type { Step } from '../yaml/nodes.ts'

/**
 * Returns the paths in an object that match a pattern from the table of kinds. The steps of a
 * pattern need not exist, except those that end with `?`. Empty items of lists do not match.
 */
export function pathsAt(fields: Fields, pattern: string): readonly (readonly Step[])[] {
  const steps = pattern === '' ? [] : pattern.split('.')
  return steps.reduce<readonly (readonly Step[])[]>(
    (paths, step) => paths.flatMap((path) => extendPath(fields, path, step)),
    [[]],
  )
}

function extendPath(
  fields: Fields,
  path: readonly Step[],
  step: string,
): readonly (readonly Step[])[] {
  if (step === '*') return expandPath(fields, path)
  const isRequired = step.endsWith('?')
  const longer = [...path, isRequired ? step.slice(0, -1) : step]
  return isRequired && valueAt(fields, longer) == null ? [] : [longer]
}

function expandPath(fields: Fields, path: readonly Step[]): readonly (readonly Step[])[] {
  const value = valueAt(fields, path)
  // An empty item of a list has no key in the text whose value could be replaced.
  if (Array.isArray(value))
    return value.flatMap((item, index) => (item === null ? [] : [[...path, index]]))
  return Object.keys(asFields(value) ?? {}).map((key) => [...path, key])
}

/** Returns the value at a path; undefined if the path does not exist. */
export function valueAt(value: unknown, path: readonly Step[]): unknown {
  return path.reduce<unknown>((here, step) => {
    if (Array.isArray(here)) return here[Number(step)]
    const fields = asFields(here)
    return fields !== undefined && Object.hasOwn(fields, step) ? fields[step] : undefined
  }, value)
}

/** Formats a path for people: `spec.tasks[0].template`. */
export function formatPath(path: readonly Step[]): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
  return steps.join('').replace(/^\./, '')
}

/** Formats a pattern for people: `spec.tasks[].template`. */
export function formatPattern(pattern: string): string {
  return pattern.replaceAll('.*', '[]').replaceAll('?', '')
}

/** Returns each path once. */
export function distinctPaths(paths: readonly (readonly Step[])[]): readonly (readonly Step[])[] {
  return [...new Map(paths.map((path) => [formatPath(path), path])).values()]
}
