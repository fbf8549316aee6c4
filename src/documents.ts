import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'

/**
 * Reads the documents of a YAML or JSON file; empty ones are left out.
 *
 * @throws an error that names the file, and what is wrong with it
 */
export async function readDocuments(path: string): Promise<readonly unknown[]> {
  const text = await readText(path)
  try {
    return parseAllDocuments(text).flatMap((document) => {
      const [error] = document.errors
      if (error !== undefined) throw error
      const value: unknown = document.toJS({ maxAliasCount: 100 })
      return value === null ? [] : [value]
    })
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new Error(`${path}: ${sentence}`)
  }
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
