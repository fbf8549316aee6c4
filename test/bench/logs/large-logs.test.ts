import t from 'tap'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { LARGE_LOGS, largeLog } from './large-logs.ts'

t.test('the sections of the rows are those of the metric', async (t) => {
  for (const large of LARGE_LOGS) {
    const text = [...largeLog(large, 10_000)].join('')
    const found = new Set([...text.matchAll(/"section":"([\w-]+)"/g)].map(([, section]) => section))
    const known = BUILT_IN_ROWS.get(large.metric)?.sections.map(({ name }) => name) ?? []
    const unknown = [...found].filter((section) => !known.includes(`${section}`))
    t.strictSame(unknown, [], large.name)
  }
})
