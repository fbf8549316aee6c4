import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openPrivateFolder } from '../../../cli/start/compile-cache.ts'

const USER = process.getuid?.() ?? 0

/** Returns a new folder in the folder for temporary files, which has the sticky bit. */
function newFolder(t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ridealong-cache-')))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

t.test("the folder is in the user's cache folder, and only the user can read it", async (t) => {
  const home = newFolder(t)
  const folder = openPrivateFolder({ HOME: home }, USER)
  t.equal(folder, join(home, '.cache/ridealong/compile-cache'))
  t.equal(statSync(folder ?? '').mode & 0o777, 0o700)
  t.equal(openPrivateFolder({ HOME: home }, USER), folder, 'the folder is used again')
  const caches = join(newFolder(t), 'caches')
  const chosen = openPrivateFolder({ HOME: home, XDG_CACHE_HOME: caches }, USER)
  t.equal(chosen, join(caches, 'ridealong/compile-cache'))
  const relative = openPrivateFolder({ HOME: home, XDG_CACHE_HOME: 'caches' }, USER)
  t.equal(relative, folder, 'a relative path is not valid')
})

t.test('a folder that another user owns is not used', async (t) => {
  const home = newFolder(t)
  openPrivateFolder({ HOME: home }, USER)
  t.equal(openPrivateFolder({ HOME: home }, USER + 1), undefined)
})

t.test('nothing is created in a folder of another user', async (t) => {
  const home = newFolder(t)
  // The function trusts folders of root, so a test that runs as root gives it to another user.
  if (USER === 0) chownSync(home, 1234, 1234)
  t.equal(openPrivateFolder({ HOME: home }, USER === 0 ? 0 : USER + 1), undefined)
  t.strictSame(readdirSync(home), [])
})

t.test('a folder that others can read or replace is not used', async (t) => {
  for (const [path, mode] of [
    ['.cache/ridealong/compile-cache', 0o755],
    ['.cache/ridealong/compile-cache', 0o722],
    ['.cache/ridealong', 0o777],
    ['.cache', 0o775],
    ['', 0o777],
  ] as const) {
    const home = newFolder(t)
    t.ok(openPrivateFolder({ HOME: home }, USER))
    chmodSync(join(home, path), mode)
    t.equal(openPrivateFolder({ HOME: home }, USER), undefined, `${path} ${mode.toString(8)}`)
  }
})

t.test('no folder is used whose home others can replace', async (t) => {
  const above = newFolder(t)
  const home = join(above, 'users/alice')
  mkdirSync(home, { recursive: true })
  t.ok(openPrivateFolder({ HOME: home }, USER))
  chmodSync(above, 0o777)
  t.equal(openPrivateFolder({ HOME: home }, USER), undefined)
  chmodSync(above, 0o1777)
  t.ok(openPrivateFolder({ HOME: home }, USER), 'with the sticky bit, others cannot replace it')
})

t.test('the real folder of a link is checked and used', async (t) => {
  const [home, other] = [newFolder(t), newFolder(t)]
  mkdirSync(join(other, 'open'), { mode: 0o777 })
  symlinkSync(other, join(home, '.cache'))
  t.equal(openPrivateFolder({ HOME: home }, USER), join(other, 'ridealong/compile-cache'))
  chmodSync(join(other, 'open'), 0o777)
  rmSync(join(home, '.cache'))
  symlinkSync(join(other, 'open'), join(home, '.cache'))
  t.equal(openPrivateFolder({ HOME: home }, USER), undefined)
})

t.test('without a folder of the user, there is no folder', async (t) => {
  t.equal(openPrivateFolder({}, USER), undefined)
  t.equal(openPrivateFolder({ HOME: 'relative' }, USER), undefined)
  t.equal(openPrivateFolder({ HOME: join(newFolder(t), 'missing') }, USER), undefined)
  t.equal(openPrivateFolder({ HOME: '/dev/null' }, USER), undefined)
})
