import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLogFile } from '../../../../src/runs/collect/log-file.ts'
import { logName } from '../../../../src/runs/collect/log-identity.ts'

t.test('a file has its name only when it is complete', async (t) => {
  const folder = t.testdir({ a: 'earlier' })
  const path = join(folder, 'a')
  const file = await openLogFile(path, 'head\n')
  await file.write('half')
  t.equal(readFileSync(path, 'utf8'), 'earlier')
  await file.restart()
  await file.write('é\n'.repeat(50_000))
  t.equal(await file.complete(), 5 + 150_000)
  t.equal(readFileSync(path, 'utf8'), `head\n${'é\n'.repeat(50_000)}`)
  t.strictSame(readdirSync(folder), ['a'])
})

t.test('text that was already written is dropped if the file begins again', async (t) => {
  const path = join(t.testdir({}), 'a')
  const file = await openLogFile(path, 'head\n')
  await file.write('x'.repeat(200_000))
  await file.restart()
  await file.write('end\n')
  t.equal(await file.complete(), 9)
  t.equal(readFileSync(path, 'utf8'), 'head\nend\n')
})

t.test(
  'a file that is left keeps its temporary name, and a discarded file is removed',
  async (t) => {
    const folder = t.testdir({})
    const left = await openLogFile(join(folder, 'a'), '')
    await left.write('part')
    await left.leave()
    const discarded = await openLogFile(join(folder, 'b'), '')
    await discarded.write('part')
    await discarded.discard()
    t.strictSame(readdirSync(folder), ['a.partial'])
    t.equal(readFileSync(join(folder, 'a.partial'), 'utf8'), 'part')
  },
)

t.test('an earlier temporary file is replaced, and a link is not followed', async (t) => {
  const folder = t.testdir({ target: 'mine' })
  symlinkSync(join(folder, 'target'), join(folder, 'a.partial'))
  const file = await openLogFile(join(folder, 'a'), '')
  await file.write('new')
  await file.complete()
  t.equal(readFileSync(join(folder, 'target'), 'utf8'), 'mine')
})

t.test('names that are too long for a file are shortened, and remain different', async (t) => {
  const place = { container: 'network', attempt: null }
  const name = (end: string) => logName({ pod: `${'a'.repeat(250)}${end}`, ...place })
  t.equal(name('x').length, 220)
  t.not(name('x'), name('y'))
  t.equal(logName({ pod: 'a', container: 'b', attempt: null }), 'a.b')
  t.equal(logName({ pod: 'a', container: 'b', attempt: 2 }), 'a.b.attempt-2')
})
