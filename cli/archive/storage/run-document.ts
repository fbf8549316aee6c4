import type { RunFolders } from './run-folders.ts'

/** Reads a file in JSON format; undefined if it does not exist or is not valid. */
export async function readDocument(folders: RunFolders, path: string): Promise<unknown> {
  const text = await folders.readFile(path)
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
