import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The versions of packages from PyPI. */
export const WHEEL = 'mpi4py==4.1.2'
export const MPICH = 'mpich==5.0.2'

/**
 * Returns a Python environment with packages from PyPI. The first call installs them into the
 * folder of temporary files; another test that does the same at the same time loses its own.
 */
export function environment(name: string, ...packages: readonly string[]): string {
  const folder = join(tmpdir(), `ridealong-mpi4py-${name}`)
  if (existsSync(folder)) return folder
  const building = mkdtempSync(`${folder}-`)
  execFileSync('python3', ['-m', 'venv', building], { stdio: 'ignore' })
  execFileSync(join(building, 'bin', 'python3'), ['-m', 'pip', 'install', '-q', ...packages])
  try {
    renameSync(building, folder)
  } catch (error) {
    rmSync(building, { recursive: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}
