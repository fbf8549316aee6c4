import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { errorMessage } from '../../lib/error-message.ts'
import { ManifestError } from '../../manifest/manifest-error.ts'
import { type Manifest, readManifests } from '../../manifest/read.ts'
import { UsageError, usageError } from './errors.ts'

/** What kubectl takes for manifests in a folder. */
const MANIFEST = /^[^.].*\.(ya?ml|json)$/

/**
 * Reads the documents of files, of folders (their own YAML and JSON files, by name), and of standard input (`-`).
 *
 * @throws UsageError naming the file that cannot be read, and where it is YAML that does not hold, the
 * document and the line; or saying that there is no document at all
 */
export async function readInput(paths: readonly string[]): Promise<readonly Manifest[]> {
  const files = (await Promise.all(paths.map((path) => filesAt(path).catch(usageError)))).flat()
  const manifests: Manifest[] = []
  for (const file of files) manifests.push(...(await readManifestFile(file)))
  if (manifests.some(({ value }) => value !== null)) return manifests
  const names = paths.map(inputName).join(', ')
  throw new UsageError(`${names}: no document, neither YAML nor JSON`)
}

function inputName(path: string): string {
  return path === '-' ? 'standard input' : path
}

async function filesAt(path: string): Promise<readonly string[]> {
  if (path === '-') return [path]
  const found = await stat(path).catch((error: unknown) => {
    throw new UsageError(`cannot read ${path}: ${errorMessage(error)}`)
  })
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => MANIFEST.test(name)).sort()
  return names.map((name) => join(path, name))
}

async function readManifestFile(file: string): Promise<readonly Manifest[]> {
  const reading = file === '-' ? buffer(process.stdin) : readFile(file)
  const bytes = await reading.catch((error: unknown) => {
    throw new UsageError(`cannot read ${file}: ${errorMessage(error)}`)
  })
  return readManifests(inputName(file), decoded(file, bytes))
}

/** Every byte comes back: what is no UTF-8 would not, and a mark at the beginning is kept. */
function decoded(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UsageError(`${file} is not UTF-8 text`)
  }
}

/** Says as a usage error what is wrong with a manifest; what is a defect of ours stays one. */
export function manifestError(error: unknown): never {
  if (error instanceof ManifestError) throw new UsageError(error.message)
  throw error
}
