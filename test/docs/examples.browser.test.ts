import { join } from 'node:path'
import t from 'tap'
import { run } from '../cli/command.ts'
import { browserOf, headingsOf } from '../src/runs/report/browser.ts'
import { REPOSITORY, textOf } from './pages.ts'

t.test('the picture of the report has the current headings', async (t) => {
  const report = join(t.testdir({}), 'report.html')
  const log = join(REPOSITORY, 'docs/examples/vitals.log')
  t.equal((await run(['report', log, '--to', report])).code, 0)
  const open = await browserOf(t)
  const { page } = await open(report)
  t.equal(await headingsOf(page), textOf('docs/examples/report-headings.txt'))
})
