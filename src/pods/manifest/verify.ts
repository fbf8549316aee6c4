import { isDeepStrictEqual } from 'node:util'
import { type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import type { Extension } from './extend.ts'
import { at, ManifestError } from './manifest-error.ts'
import { type Manifest, readManifests } from './read.ts'
import type { Step } from './yaml/nodes.ts'

/** The extensions of a document, and the path from its root to the map that they extend. */
export interface Patch {
  readonly path: readonly Step[]
  readonly extensions: readonly Extension[]
}

/**
 * Verifies that the edited text of a document parses to the value that the patches produce. The
 * values differ if an anchor or a merge key copies an addition to another place.
 *
 * @param text the edited text of this document only
 * @throws ManifestError naming the document
 */
export function verify(manifest: Manifest, text: string, patches: readonly Patch[]): void {
  const wanted = patches
    .flatMap(({ path, extensions }) =>
      extensions.map((one) => ({ ...one, path: [...path, ...one.path] })),
    )
    .reduce((value, extension) => extended(value, extension.path, extension), manifest.value)
  if (isDeepStrictEqual(parseMeaning(manifest, text), plain(wanted))) return
  const remedy = 'replace its anchors or merge keys by the values that they stand for'
  throw new ManifestError(at(manifest, `cannot be edited without other changes: ${remedy}`))
}

function parseMeaning(manifest: Manifest, text: string): unknown {
  try {
    const [only, ...others] = readManifests(manifest.file, text)
    return others.length > 0 ? undefined : plain(only?.value)
  } catch {
    return undefined
  }
}

/** Returns a copy of the value with an extension applied. */
function extended(value: unknown, [step, ...rest]: readonly Step[], extension: Extension): unknown {
  if (step === undefined) {
    if ('entries' in extension) return { ...fieldsOrNone(value), ...extension.entries }
    return [...extension.first, ...listOrNone(value), ...extension.items]
  }
  if (Array.isArray(value))
    return value.with(Number(step), extended(value[Number(step)], rest, extension))
  const fields: Fields = fieldsOrNone(value)
  return { ...fields, [step]: extended(fields[step], rest, extension) }
}

/** Converts a value to plain JSON data, in which no objects are shared. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
