import t from 'tap'
import { textOf } from './pages.ts'

/** Tells whether a Markdown text links to a test. links.test.ts checks that the test exists. */
function namesTest(text: string): boolean {
  return /\]\([^)]+(\.test\.ts|_test\.yaml)\)/.test(text)
}

t.test('each of the 18 threats has a row, and all except three link to a test', async (t) => {
  const rows = [
    ...textOf('docs/administer/threat-model.md').matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm),
  ]
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
