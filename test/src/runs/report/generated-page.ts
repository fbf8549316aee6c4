import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { type Generated, generatedLines } from './generated.ts'

/** A run of few pods. */
export const SMALL: Generated = { pods: 4, timepoints: 40, straggler: 2 }

/** Creates a page from generated data with the command, as a user would. */
export async function pageOf(
  t: Test,
  generated: Generated,
  ...args: readonly string[]
): Promise<string> {
  const folder = t.testdir({})
  const [data, page] = [join(folder, 'run.jsonl'), join(folder, 'page.html')]
  writeFileSync(data, `${[...generatedLines(generated)].join('\n')}\n`)
  const { code, err } = await run(['report', data, '--to', page, ...args])
  t.equal(code, 0, err)
  return page
}
