import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * Compiles a program of this folder for a test. Returns its path, and the path of a file for its
 * data.
 */
export function compiled(t: Test, name: string): readonly [string, string] {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-processes-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const source = new URL(`${name}.c`, import.meta.url).pathname
  execFileSync('gcc', ['-O1', '-pthread', '-o', join(folder, name), source])
  return [join(folder, name), join(folder, 'data')]
}
