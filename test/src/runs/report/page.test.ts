import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { embed } from '../../../../src/runs/report/page.ts'
import { run } from '../../../cli/command.ts'
import { type Generated, generatedLines } from './generated.ts'

/** Creates a page from generated data with the command, as a user would. */
async function pageOf(t: Test, generated: Generated, ...args: readonly string[]): Promise<string> {
  const folder = t.testdir({})
  const [data, page] = [join(folder, 'run.jsonl'), join(folder, 'page.html')]
  writeFileSync(data, `${[...generatedLines(generated)].join('\n')}\n`)
  const { code, err } = await run(['report', data, '--to', page, ...args])
  t.equal(code, 0, err)
  return page
}

const embedded = (data: unknown) => [...embed(data)].join('')
const SMALL = { ranks: 4, timepoints: 40, straggler: 2 }

t.test('the data in a page cannot begin a tag or a comment', async (t) => {
  const data = { program: '</script><!--<script>', rank: 'lmp' }
  t.notMatch(embedded(data), '<')
  t.strictSame(JSON.parse(embedded(data)), data)
})

t.test('all texts in the data of a page are printable', async (t) => {
  const data = { program: 'a\u202eb\u2028', rank: ['\u001b[2J'] }
  t.strictSame(JSON.parse(embedded(data)), { program: 'a\\u202eb\\u2028', rank: ['\\u001b[2J'] })
})

t.test('the page has the sentence about the run without its script', async (t) => {
  const page = readFileSync(await pageOf(t, SMALL, '--title', 'VERDICT <b>'), 'utf8')
  const [, verdict] = /<p id="verdict">(.*?)<\/p>/.exec(page) ?? []
  t.match(verdict, /^Took \d+ (s|min) on 4 ranks\. Efficiency /)
  t.match(page, '<h1>VERDICT &lt;b&gt;</h1>')
})
