import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CACHE, run } from '../cluster/machine/tools.ts'

const REQUIREMENTS = fileURLToPath(new URL('checkov.txt', import.meta.url))

/** The path of the file with the checks that the scanner skips, each with its reason. */
export const CHECKOV_CONFIG = fileURLToPath(new URL('checkov.yaml', import.meta.url))

const FOLDER = join(CACHE, 'checkov')

/** The scanner of manifests, a Python program in its own virtual environment. */
export const CHECKOV = join(FOLDER, 'bin', 'checkov')

/** Installs the scanner if it is missing. */
export async function installCheckov(say: (line: string) => void): Promise<void> {
  if (existsSync(CHECKOV)) return
  say('installing checkov, once; this takes minutes')
  try {
    await run('python3', ['-m', 'venv', FOLDER])
    await run(join(FOLDER, 'bin', 'pip'), ['install', '--quiet', '--requirement', REQUIREMENTS])
  } catch (error) {
    await rm(FOLDER, { recursive: true, force: true })
    throw error
  }
}
