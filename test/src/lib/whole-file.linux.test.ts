import { lchownSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeWholeFile } from '../../../src/lib/whole-file.ts'

/** A user without rights. */
const NOBODY = 65_534

t.test('a link of another user is not followed', async (t) => {
  const folder = t.testdir({ victim: 'secret' })
  const link = join(folder, 'out')
  symlinkSync('victim', link)
  lchownSync(link, NOBODY, NOBODY)
  await t.rejects(writeWholeFile(link, 'text'), /is a link of another user \(uid 65534\)/)
  t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'secret')
})
