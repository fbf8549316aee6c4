import t from 'tap'
import { textOf } from './pages.ts'

/**
 * Tells whether a Markdown text links to a test. Another test checks the links of all documents.
 */
function namesTest(text: string): boolean {
  return /\]\([^)]+(\.test\.ts|_test\.yaml)\)/.test(text)
}

t.test('the threat model has a row for each of the 18 threats', async (t) => {
  const rows = [...textOf('docs/threat-model.md').matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm)]
  t.strictSame(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: 18 }, (_, index) => index + 1),
  )
  // No webhook can prevent threats 6, 16 and 17. Their rows give advice to administrators.
  const untested = rows.filter(([, , , answer = '']) => !namesTest(answer))
  t.strictSame(
    untested.map(([, number]) => Number(number)),
    [6, 16, 17],
  )
})
