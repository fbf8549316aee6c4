import { readFileSync } from 'node:fs'
import t from 'tap'
import { entriesOf } from '../../../cli/shared/run-input.ts'
import type { Entry } from '../../../src/runs/log/entry.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'

const LOG = readFileSync(new URL('../../../docs/examples/vitals.log', import.meta.url), 'utf8')
const LINES = LOG.split('\n')

async function readAll(file: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of entriesOf(file, BUILT_IN_ROWS)) entries.push(entry)
  return entries
}

t.test('the log of kubectl logs --timestamps has the same rows', async (t) => {
  const stamped = LINES.map((line) => `2026-11-26T09:22:50.170123456Z ${line}`).join('\n')
  const folder = t.testdir({ plain: { 'a.log': LOG }, stamped: { 'a.log': stamped } })
  const rows = await readAll(`${folder}/stamped/a.log`)
  t.ok(rows.length > 100)
  t.strictSame(rows, await readAll(`${folder}/plain/a.log`))
})

/** Texts in which no log is found, and the message. */
const UNREADABLE: readonly (readonly [string, string, RegExp])[] = [
  [
    'a log with the prefixes of kubectl',
    LINES.map((line) => `[pod/lammps-0/vitals] ${line}`).join('\n'),
    /^.*a\.log cannot be read: its lines have the prefix .*: kubectl logs lammps-0 -c vitals$/,
  ],
  [
    'the end of a log',
    LINES.slice(10, 40).join('\n'),
    /^.*a\.log cannot be read: it has rows of an observer, but not the line METADATA START/,
  ],
  ['another text', 'hello\n', /^.*a\.log is neither the log of an observer nor the output of coll/],
]

for (const [what, text, message] of UNREADABLE) {
  t.test(`${what} gives a message that says what is in the way`, async (t) => {
    const folder = t.testdir({ 'a.log': text })
    await t.rejects(readAll(`${folder}/a.log`), { name: 'UsageError', message })
  })
}
