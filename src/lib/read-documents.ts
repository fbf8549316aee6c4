import { readFile } from 'node:fs/promises'
import { readManifests } from '../manifest/read.ts'

/**
 * Reads the documents of a YAML or JSON file. Empty documents are skipped.
 *
 * @throws an error that names the file, and the document and line of a syntax error
 */
export async function readDocuments(path: string): Promise<readonly unknown[]> {
  return parseDocuments(path, await readText(path))
}

/**
 * Parses the documents of a YAML or JSON text. Empty documents are skipped.
 *
 * @param path the name of the text in error messages
 * @throws an error that names the path, the document and the line of the syntax error
 */
export function parseDocuments(path: string, text: string): readonly unknown[] {
  return readManifests(path, text).flatMap(({ value }) => (value === null ? [] : [value]))
}

/**
 * Reads a text file as UTF-8.
 *
 * @throws an error that names the file; Node's own error does not contain the path if the path is a
 * directory
 */
export async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot read ${path}: ${error.message}`)
  })
}
