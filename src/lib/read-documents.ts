import { readFile } from 'node:fs/promises'
import { readManifests } from '../manifest/read.ts'

/**
 * Reads the documents of a YAML or JSON file; empty ones are left out.
 *
 * @throws an error that names the file, the document and the line of what is wrong with it
 */
export async function readDocuments(path: string): Promise<readonly unknown[]> {
  return parseDocuments(path, await readText(path))
}

/**
 * Parses the documents of a YAML or JSON text; empty ones are left out.
 *
 * @param path names the text in errors
 * @throws an error that names the path, the document and the line of what is wrong with it
 */
export function parseDocuments(path: string, text: string): readonly unknown[] {
  return readManifests(path, text).flatMap(({ value }) => (value === null ? [] : [value]))
}

/**
 * Reads a file of text.
 *
 * @throws an error that names the file; the system's own leaves it out where it is a folder
 */
export async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot read ${path}: ${error.message}`)
  })
}
