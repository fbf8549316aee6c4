import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  appendToFile,
  createFile,
  findPlace,
  openWholeFile,
  writeWholeFile,
} from '../../../src/lib/whole-file.ts'

t.test('a file is written under a temporary name, and replaces the file of its name', async (t) => {
  const folder = t.testdir({ out: 'before' })
  const path = join(folder, 'out')
  const file = await openWholeFile(path)
  await file.handle.appendFile('after')
  t.equal(readFileSync(path, 'utf8'), 'before')
  t.equal(await file.complete(), 5)
  t.equal(readFileSync(path, 'utf8'), 'after')
  t.strictSame(readdirSync(folder), ['out'])
})

t.test('a new file has the usual mode, and a replaced file keeps its mode', async (t) => {
  const folder = t.testdir({ kept: 'before' })
  const mode = (name: string) => statSync(join(folder, name)).mode & 0o777
  chmodSync(join(folder, 'kept'), 0o640)
  await writeWholeFile(join(folder, 'kept'), 'after')
  await writeWholeFile(join(folder, 'new'), 'text')
  t.equal(mode('kept'), 0o640)
  t.equal(mode('new'), 0o666 & ~process.umask())
})

t.test('a link under the temporary name is removed, and its target does not change', async (t) => {
  const folder = t.testdir({ victim: 'secret' })
  symlinkSync('victim', join(folder, 'out.partial'))
  await writeWholeFile(join(folder, 'out'), 'text')
  t.equal(readFileSync(join(folder, 'out'), 'utf8'), 'text')
  t.ok(lstatSync(join(folder, 'out')).isFile())
  t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'secret')
  t.strictSame(readdirSync(folder).sort(), ['out', 'victim'])
})

t.test('a file that another process puts in place of the temporary file is not used', async (t) => {
  const folder = t.testdir({ planted: 'evil', out: 'before' })
  const file = await openWholeFile(join(folder, 'out'))
  renameSync(join(folder, 'planted'), join(folder, 'out.partial'))
  await t.rejects(file.complete(), /another process has replaced .*out\.partial$/)
  t.equal(readFileSync(join(folder, 'out'), 'utf8'), 'before')
})

t.test('the target of a link is written, and the link stays', async (t) => {
  const folder = t.testdir({ run: { 'page.html': 'before' } })
  const link = join(folder, 'latest.html')
  symlinkSync('run/page.html', link)
  await writeWholeFile(link, 'after')
  t.equal(readlinkSync(link), 'run/page.html')
  t.equal(readFileSync(join(folder, 'run/page.html'), 'utf8'), 'after')
  symlinkSync('run/new.html', join(folder, 'next.html'))
  await writeWholeFile(join(folder, 'next.html'), 'new')
  t.equal(readFileSync(join(folder, 'run/new.html'), 'utf8'), 'new', 'the target is created')
})

t.test('a loop of links is an error', async (t) => {
  const folder = t.testdir({})
  symlinkSync('b', join(folder, 'a'))
  symlinkSync('a', join(folder, 'b'))
  await t.rejects(findPlace(join(folder, 'a')), /has more than 40 links/)
})

t.test('a device or a pipe is written directly', async (t) => {
  await writeWholeFile('/dev/null', 'text')
  t.ok(lstatSync('/dev/null').isCharacterDevice(), '/dev/null is not replaced')
  t.notOk(existsSync('/dev/null.partial'))
  const folder = t.testdir({})
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const [, text] = await Promise.all([
    writeWholeFile(pipe, 'through the pipe'),
    import('node:fs/promises').then(({ readFile }) => readFile(pipe, 'utf8')),
  ])
  t.equal(text, 'through the pipe')
  t.ok(lstatSync(pipe).isFIFO())
  for (const path of ['/dev/stdout', '/dev/fd/7', '/proc/self/fd/1'])
    t.strictSame(await findPlace(path), { path, isDirect: true })
})

t.test('text is not appended through a link, and a file is not created through one', async (t) => {
  const folder = t.testdir({ victim: 'secret' })
  const link = join(folder, 'log')
  symlinkSync('victim', link)
  await t.rejects(appendToFile(link, 'text'), { code: 'ELOOP' })
  const handle = await createFile(link)
  await handle.close()
  await appendToFile(link, 'text')
  t.equal(readFileSync(link, 'utf8'), 'text')
  t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'secret')
})

t.test('a file that cannot be written leaves no temporary file', async (t) => {
  const folder = t.testdir({ out: 'before' })
  const parts = function* () {
    yield 'after'
    throw new Error('no more parts')
  }
  await t.rejects(writeWholeFile(join(folder, 'out'), parts()), { message: 'no more parts' })
  t.strictSame(readdirSync(folder), ['out'])
  t.equal(readFileSync(join(folder, 'out'), 'utf8'), 'before')
})

t.test('a folder is named as such, also if it does not exist', async (t) => {
  const folder = t.testdir({ runs: {} })
  for (const path of ['runs', 'runs/', 'new/'])
    await t.rejects(writeWholeFile(`${folder}/${path}`, 'a'), {
      message: 'it is a folder; name a file in it',
    })
  t.strictSame(readdirSync(folder), ['runs'])
  t.strictSame(readdirSync(join(folder, 'runs')), [])
})
