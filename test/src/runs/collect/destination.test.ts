import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDestination } from '../../../../src/runs/collect/destination.ts'

t.test('a file gets its name and the header when the destination is closed', async (t) => {
  const folder = t.testdir({})
  const destination = await openDestination(join(folder, 'out.csv'), 'csv', 'head\n')
  t.strictSame(readdirSync(folder), ['out.csv.partial'])
  await destination.close(true)
  t.strictSame(readdirSync(folder), ['out.csv'])
  t.equal(readFileSync(join(folder, 'out.csv'), 'utf8'), 'head\n')
})
