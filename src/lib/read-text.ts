import { readFile } from 'node:fs/promises'
import { systemMessage } from './error-message.ts'

/**
 * Reads a text file as UTF-8.
 *
 * @throws an error that names the file; Node's own error does not contain the path if the path is a
 * directory
 */
export async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`cannot read ${path}: ${systemMessage(error)}`)
  })
}
