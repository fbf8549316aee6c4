import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * Creates a folder for all tests of a file, which is removed when they have ended. `t.testdir` of
 * the root test is one folder for all files that share a process.
 */
export function ownFolder(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}
