import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openFolder } from '../pod.ts'

/**
 * Compiles a program of this folder for a test. Returns its path, and the path of a file for its
 * data. Every user can run the program, and can write the file.
 */
export function compiled(t: Test, name: string): readonly [string, string] {
  const folder = openFolder('ridealong-processes-')
  chmodSync(folder, 0o777)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const source = new URL(`${name}.c`, import.meta.url).pathname
  execFileSync('gcc', ['-O1', '-pthread', '-o', join(folder, name), source])
  return [join(folder, name), join(folder, 'data')]
}
