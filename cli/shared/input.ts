import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { checkAnnotationValues } from '../../src/pods/manifest/annotation-values.ts'
import { ManifestError } from '../../src/pods/manifest/manifest-error.ts'
import { type Manifest, readManifests } from '../../src/pods/manifest/read.ts'
import { cannotRead, UsageError, usageError } from './errors.ts'
import type { InputStream } from './host.ts'

/** Matches the files in a folder that kubectl reads (.yaml, .yml, .json), except hidden files. */
const MANIFEST = /^[^.].*\.(ya?ml|json)$/

/**
 * Reads the documents of files, of folders, and of standard input (`-`). The YAML and JSON files
 * directly in a folder are read in the order of their names.
 *
 * @throws UsageError with the file that cannot be read, with the document and the line of invalid
 * YAML or of an annotation of Ridealong that is not a string, or if there are no documents
 */
export async function readInput(
  paths: readonly string[],
  stdin: InputStream,
): Promise<readonly Manifest[]> {
  const files = (await Promise.all(paths.map((path) => filesAt(path).catch(usageError)))).flat()
  const manifests: Manifest[] = []
  for (const file of files) manifests.push(...(await readManifestFile(file, stdin)))
  if (manifests.some(({ value }) => value !== null)) return manifests
  const names = paths.map(inputName).join(', ')
  throw new UsageError(`${names}: no YAML or JSON document was found`)
}

function inputName(path: string): string {
  return path === '-' ? 'standard input' : path
}

async function filesAt(path: string): Promise<readonly string[]> {
  if (path === '-') return [path]
  const found = await stat(path).catch(cannotRead(path))
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => MANIFEST.test(name)).sort()
  return names.map((name) => join(path, name))
}

async function readManifestFile(file: string, stdin: InputStream): Promise<readonly Manifest[]> {
  const reading = file === '-' ? buffer(stdin) : readFile(file)
  const bytes = await reading.catch(cannotRead(file))
  const manifests = readManifests(inputName(file), decoded(file, bytes))
  for (const manifest of manifests) checkAnnotationValues(manifest)
  return manifests
}

/**
 * Decodes UTF-8. Text that is not valid UTF-8 is an error, and a byte order mark is kept, so that
 * the output can contain every byte of the input.
 */
function decoded(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UsageError(`${file} is not UTF-8 text`)
  }
}

/** Rethrows a problem with a manifest as a usage error, and any other error unchanged. */
export function manifestError(error: unknown): never {
  if (error instanceof ManifestError) throw new UsageError(error.message)
  throw error
}
