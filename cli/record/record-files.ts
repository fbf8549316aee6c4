import { existsSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { namespacesIn } from '../../src/namespaces/namespace-file.ts'
import { usageError } from '../shared/errors.ts'
import { NAMESPACES, REVIEW } from '../test/test.ts'

/** A folder to which cases are added. Existing cases are never overwritten. */
export interface CaseFolder {
  /**
   * Writes the review of a new case.
   *
   * @param name the name of the case; a number is appended if the folder already has this case
   * @returns the name of the new case
   */
  addCase(name: string, review: Fields): Promise<string>
  /** Writes a Namespace and its objects, unless the folder has a Namespace of that name. */
  addNamespace(name: string, objects: readonly Fields[]): Promise<void>
  hasNamespace(name: string): boolean
}

/**
 * Opens a folder for new cases, and creates it if it does not exist.
 *
 * @throws UsageError with the folder that cannot be created, or the invalid part of its
 * namespaces.yaml
 */
export async function openCaseFolder(folder: string): Promise<CaseFolder> {
  await mkdir(folder, { recursive: true }).catch(usageError)
  const path = join(folder, NAMESPACES)
  const known = new Set(existsSync(path) ? await namespacesIn(path).catch(usageError) : [])
  const next = new Map<string, number>()
  return {
    async addCase(name, review) {
      let unique: string
      do unique = nameAfter(name, next)
      while (!(await writeCase(join(folder, unique), review)))
      return unique
    },
    hasNamespace: (name) => known.has(name),
    async addNamespace(name, objects) {
      if (known.has(name) || objects.length === 0) return
      const before = existsSync(path) ? await readFile(path, 'utf8') : ''
      await writeWholeFile(
        path,
        [before, ...objects.map(formatDocument)].filter(Boolean).join('---\n'),
      )
      known.add(name)
    },
  }
}

/** Returns the name the first time, and afterwards the name with a number: `name-2`. */
function nameAfter(name: string, next: Map<string, number>): string {
  const number = next.get(name) ?? 1
  next.set(name, number + 1)
  return number === 1 ? name : `${name}-${number}`
}

/** Writes a case, unless the folder exists. @returns whether the case was written */
async function writeCase(folder: string, review: Fields): Promise<boolean> {
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    await writeWholeFile(join(folder, REVIEW), `${JSON.stringify(review, null, 2)}\n`)
    return true
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

function formatDocument(object: Fields): string {
  return stringify(object, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 })
}
