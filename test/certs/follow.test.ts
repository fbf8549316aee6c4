import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Followed, follow, type Reading } from '../../certs/follow.ts'
import { readKeyPair } from '../../certs/key-pair.ts'
import { makeAuthority } from '../../certs/make.ts'
import { until } from '../until.ts'
import { mountFiles, replaceFile } from '../webhook/server.ts'

interface Text extends Reading {
  readonly text: string
}

/** Reads a file, and fails if its text begins with `bad`. */
async function readText(path: string): Promise<Text> {
  const text = await readFile(path, 'utf8')
  if (text.startsWith('bad')) throw new Error(`${path} contains ${text}`)
  return { text, revision: text }
}

/** Follows a file. Counts the readings and their ends, and collects the changes and the errors. */
async function followText(t: Test, path: string) {
  const seen = { reads: 0, ends: 0, changes: [] as string[], troubles: [] as string[] }
  const read = () => {
    seen.reads += 1
    return readText(path).finally(() => {
      seen.ends += 1
    })
  }
  const followed = follow(await read(), read, {
    everyMs: 20,
    onChange: ({ text }) => seen.changes.push(text),
    onTrouble: (trouble) => seen.troubles.push(trouble),
  })
  t.teardown(() => followed.stop())
  return { followed, seen }
}

async function severalLooks(seen: { readonly reads: number }): Promise<void> {
  const { reads } = seen
  await until('the file is read several times', () => seen.reads > reads + 3)
}

t.test(
  'follow reports each change of a file once, and no change of an unchanged file',
  async (t) => {
    const path = join(t.testdir({ file: 'one' }), 'file')
    const { followed, seen } = await followText(t, path)
    await severalLooks(seen)
    t.strictSame(seen.changes, [])
    t.equal(followed.current.text, 'one')
    replaceFile(path, 'two')
    await until('the change is reported', () => followed.current.text === 'two')
    await severalLooks(seen)
    t.strictSame(seen.changes, ['two'])
    t.strictSame(seen.troubles, [])
    t.equal(followed.trouble, undefined)
  },
)

t.test('follow reports an invalid file once, and keeps the last valid reading', async (t) => {
  const path = join(t.testdir({ file: 'one' }), 'file')
  const { followed, seen } = await followText(t, path)
  replaceFile(path, 'bad')
  await until('the trouble is reported', () => followed.trouble !== undefined)
  await severalLooks(seen)
  t.strictSame(seen.troubles, [`${path} contains bad`])
  t.equal(followed.trouble, `${path} contains bad`)
  t.equal(followed.current.text, 'one')
  t.strictSame(seen.changes, [])
  replaceFile(path, 'bad again')
  await until(
    'the new trouble is reported',
    () => followed.trouble === `${path} contains bad again`,
  )
  t.strictSame(seen.troubles.at(-1), `${path} contains bad again`)
})

t.test('after a valid reading, follow can report the same error again', async (t) => {
  const path = join(t.testdir({ file: 'one' }), 'file')
  const { followed, seen } = await followText(t, path)
  for (const times of [1, 2]) {
    replaceFile(path, 'bad')
    await until('the trouble is reported', () => followed.trouble !== undefined)
    t.equal(seen.troubles.length, times)
    replaceFile(path, 'one')
    await until('the trouble is over', () => followed.trouble === undefined)
  }
  t.strictSame(seen.changes, [], 'no change is reported')
})

t.test('follow reports an error of onChange once, and calls onChange again', async (t) => {
  let isRefused = true
  let refusals = 0
  const troubles: string[] = []
  const followed = follow<Reading>({ revision: 'one' }, async () => ({ revision: 'two' }), {
    everyMs: 5,
    onChange() {
      if (!isRefused) return
      refusals += 1
      throw new Error('not now')
    },
    onTrouble: (trouble) => troubles.push(trouble),
  })
  t.teardown(() => followed.stop())
  await until('the change was refused several times', () => refusals > 3)
  t.equal(followed.trouble, 'not now')
  t.equal(followed.current.revision, 'one')
  isRefused = false
  await until('the change was accepted', () => followed.current.revision === 'two')
  t.equal(followed.trouble, undefined)
  t.strictSame(troubles, ['not now'])
})

t.test('follow reports a thrown value that is not an Error', async (t) => {
  const followed = follow({ revision: '1' }, () => Promise.reject('a word'), {
    everyMs: 5,
    onChange() {},
    onTrouble() {},
  })
  t.teardown(() => followed.stop())
  await until('the trouble is reported', () => followed.trouble === 'a word')
})

t.test('a slow reading never replaces a newer one', async (t) => {
  const changes: string[] = []
  let readings = 0
  let finish = (_reading: Reading) => {}
  const slow = new Promise<Reading>((resolve) => {
    finish = resolve
  })
  const read = () => {
    readings += 1
    return readings === 1 ? slow : Promise.resolve({ revision: 'new' })
  }
  const followed = follow<Reading>({ revision: 'first' }, read, {
    everyMs: 5,
    onChange: ({ revision }) => changes.push(revision),
    onTrouble() {},
  })
  t.teardown(() => followed.stop())
  await sleep(60)
  finish({ revision: 'old' })
  await until('the new reading is current', () => followed.current.revision === 'new')
  await sleep(30)
  t.ok(changes.length < 3, `at most two changes: ${changes.join(', ')}`)
  t.notOk(
    changes.lastIndexOf('old') > changes.indexOf('new'),
    `the old reading does not follow the new reading: ${changes.join(', ')}`,
  )
})

t.test('follow does not read the file after it was stopped', async (t) => {
  const path = join(t.testdir({ file: 'one' }), 'file')
  const { followed, seen } = await followText(t, path)
  await severalLooks(seen)
  followed.stop()
  const { reads } = seen
  await until('a reading that had started is finished', () => seen.ends === reads)
  replaceFile(path, 'two')
  await sleep(60)
  t.equal(seen.reads, reads)
  t.equal(followed.current.text, 'one')
})

t.test('follow reads a mounted Secret again when the kubelet replaces its links', async (t) => {
  const folder = join(t.testdir({ tls: {} }), 'tls')
  const authority = await makeAuthority()
  const issue = async () => {
    const { cert, key } = await authority.issue({ names: ['localhost'] })
    return { 'ca.crt': authority.ca, 'tls.crt': cert, 'tls.key': key }
  }
  const first = await issue()
  mountFiles(folder, first)
  const read = () => readKeyPair(join(folder, 'tls.crt'), join(folder, 'tls.key'))
  const followed: Followed<Awaited<ReturnType<typeof read>>> = follow(await read(), read, {
    everyMs: 5,
    onChange() {},
    onTrouble() {},
  })
  t.teardown(() => followed.stop())
  t.equal(followed.current.cert, first['tls.crt'])
  for (let round = 0; round < 3; round++) {
    const next = await issue()
    mountFiles(folder, next)
    await until('the new pair is read', () => followed.current.cert === next['tls.crt'])
    t.equal(followed.current.key, next['tls.key'])
  }
  const good = followed.current
  const stranger = await issue()
  mountFiles(folder, { ...(await issue()), 'tls.key': stranger['tls.key'] })
  await until('the trouble is reported', () =>
    /the private key .* does not belong to/.test(followed.trouble ?? ''),
  )
  t.equal(followed.current, good)
})
