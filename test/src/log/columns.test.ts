import { readFileSync } from 'node:fs'
import t from 'tap'
import { COLUMNS } from '../../../src/log/columns.ts'

const PAGE = readFileSync(new URL('../../../docs/collect.md', import.meta.url), 'utf8')

t.test('the documentation lists every column in its order, and no other', async (t) => {
  const [, table = ''] = PAGE.split('| column | meaning |\n| --- | --- |\n')
  const rows = (table.split('\n\n')[0] ?? '').trimEnd().split('\n')
  t.strictSame(
    rows,
    Object.entries(COLUMNS).map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`),
  )
})
