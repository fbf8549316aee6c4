import { join } from 'node:path'
import t from 'tap'
import { findLogFiles } from '../../../../cli/archive/storage/log-files.ts'

t.test('the logs in a folder are found, in the order of their names', async (t) => {
  const files = { 'b.log': '', 'a.jsonl.gz': '', '.c.log': '', 'page.html': '' }
  const folder = t.testdir({ run: files, pages: { 'page.html': '' } })
  const found = await findLogFiles(join(folder, 'run'))
  t.strictSame(found, [join(folder, 'run/a.jsonl.gz'), join(folder, 'run/b.log')])
  await t.rejects(findLogFiles(join(folder, 'pages')), {
    name: 'UsageError',
    message: /pages has no logs: the folder of a run has files such as POD\.CONTAINER\.jsonl/,
  })
})

t.test('a file, a missing file and standard input are returned as they are', async (t) => {
  const folder = t.testdir({ 'page.html': '' })
  for (const path of [join(folder, 'page.html'), join(folder, 'none'), '-'])
    t.strictSame(await findLogFiles(path), [path])
})
