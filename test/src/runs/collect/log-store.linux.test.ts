import { chownSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { JOURNAL } from '../../../../src/runs/collect/journal.ts'
import { collector, journalEntry } from './collector.ts'

// Tests of `collect` in a folder in which another user has created files, such as /tmp.

const NOBODY = 65_534

t.test('FILE.parts of another user, or a link, is not used', async (t) => {
  const { collectTo } = await collector(t)
  const folder = t.testdir({ other: {}, elsewhere: {} })
  const parts = join(folder, 'out.jsonl.parts')
  mkdirSync(parts)
  chownSync(parts, NOBODY, NOBODY)
  await t.rejects(collectTo(join(folder, 'out.jsonl')), {
    name: 'UsageError',
    message: /out\.jsonl\.parts belongs to another user \(uid 65534\); remove it, or name another/,
  })
  symlinkSync('elsewhere', join(folder, 'next.jsonl.parts'))
  await t.rejects(collectTo(join(folder, 'next.jsonl')), {
    message: /next\.jsonl\.parts is no folder; remove it/,
  })
  t.strictSame(readdirSync(join(folder, 'elsewhere')), [])
})

t.test('a journal of another user is not used', async (t) => {
  const { collectTo } = await collector(t)
  const folder = t.testdir({ [JOURNAL]: journalEntry('lammps-0-abcde', 'perf-sysstat') })
  chownSync(join(folder, JOURNAL), NOBODY, NOBODY)
  const message = /it belongs to another user \(uid 65534\); remove it$/
  await t.rejects(collectTo(`${folder}/`), { name: 'UsageError', message })
})
