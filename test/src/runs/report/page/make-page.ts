import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from '../../../../cli/command.ts'

/** Makes a page with the command from files or lines, and returns its path. */
export async function makePage(
  t: Test,
  { files = [], lines = [] }: { files?: readonly string[]; lines?: Iterable<string> },
): Promise<string> {
  const folder = t.testdir({ 'run.jsonl': [...lines].join('\n') })
  const path = join(folder, 'page.html')
  const inputs = files.length > 0 ? files : [join(folder, 'run.jsonl')]
  const { code, err } = await run(['report', ...inputs, '--to', path])
  t.equal(code, 0, err)
  return path
}
