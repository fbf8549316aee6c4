import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  CASE_NAMESPACES,
  CASES,
  caseFolder,
  catalogFolder,
  GROUPS,
  type Group,
} from '../../cases/read.ts'
import { ASKING, NAMESPACES, podOf, reviewOf } from '../../webhook/server.ts'
import { run } from '../command.ts'

const ASKS = JSON.stringify(reviewOf(ASKING))
const SILENT = JSON.stringify(reviewOf(podOf({}), { namespace: 'hpc' }))

/** Returns the settings of the golden answers of a group in this repository. */
const settingsOf = (group: Group) => [
  ...['--namespaces', CASE_NAMESPACES],
  ...['--catalog', catalogFolder(group), '--no-built-in-metrics'],
]

const read = (folder: string, name: string) =>
  readFileSync(join(folder, name, 'answer.json'), 'utf8')

for (const group of GROUPS) {
  t.test(`ridealong test passes for all recorded cases in test/cases/${group}`, async (t) => {
    const folder = join(CASES, group)
    const { code, out, err } = await run(['test', folder, ...settingsOf(group)])
    t.equal(code, 0)
    t.equal(err, '')
    t.match(out, /^TAP version 14\n1\.\.\d+\nok 1 - \S+\n/)
    t.notMatch(out, /^not ok/m)
    const [, count] = /^1\.\.(\d+)$/m.exec(out) ?? []
    t.equal(out.match(/^ok \d+ - /gm)?.length, Number(count))
  })
}

t.test('the cases of several folders are tested together', async (t) => {
  const folders = ['pods', 'workloads'].map((group) => join(CASES, group))
  const { code, out } = await run(['test', ...folders, ...settingsOf('pods')])
  t.equal(code, 0)
  for (const folder of folders) t.ok(out.includes(` - ${folder}/`), `cases of ${folder}`)
  const [, count] = /^1\.\.(\d+)$/m.exec(out) ?? []
  t.equal(out.match(/^ok \d+ - /gm)?.length, Number(count))
})

t.test(
  'a case whose answer differs from its golden file fails, and the difference is printed',
  async (t) => {
    const folder = t.testdir({})
    for (const name of ['job-indexed', 'pod-not-asked']) {
      cpSync(caseFolder(name), join(folder, name), { recursive: true })
    }
    const golden = join(folder, 'job-indexed', 'answer.json')
    const before = readFileSync(golden, 'utf8').replace('"injected"', '"left"')
    writeFileSync(golden, before)
    const { code, out } = await run(['test', folder, '--namespaces', CASE_NAMESPACES])
    t.equal(code, 1)
    t.match(out, /^TAP version 14\n1\.\.2\nnot ok 1 - job-indexed\n {2}---\n {2}trouble: \|\n/)
    t.match(out, /\n {4}--- answer\.json\n {4}\+\+\+ actual answer\n/)
    t.match(out, /\n {4}- {2}"outcome": "left",\n {4}\+ {2}"outcome": "injected",\n/)
    t.match(out, /\n {2}\.\.\.\nok 2 - pod-not-asked\n$/)
    t.equal(readFileSync(golden, 'utf8'), before, 'the golden file is not changed')
  },
)

t.test('--update writes missing and differing golden files, and the next run passes', async (t) => {
  const folder = t.testdir({ asks: { 'review.json': ASKS }, silent: { 'review.json': SILENT } })
  const missing = await run(['test', folder])
  t.equal(missing.code, 1)
  t.match(
    missing.out,
    /\nnot ok 1 - asks\n(.*\n)*? {4}answer\.json does not exist yet: .*--update\n/,
  )
  t.notOk(existsSync(join(folder, 'asks', 'answer.json')))
  const written = await run(['test', folder, '--update'])
  t.equal(written.code, 0)
  t.match(written.out, /\nok 1 - asks\nok 2 - silent\n$/)
  t.match(JSON.parse(read(folder, 'asks')), {
    outcome: 'injected',
    patch: [{ op: 'add', path: '/metadata/annotations/ridealong.dev~1status' }],
  })
  t.strictSame(JSON.parse(read(folder, 'silent')), {
    outcome: 'left',
    reason: 'not-asked',
    message: 'neither the pod nor its namespace requests a metric',
    patch: [],
  })
  t.equal((await run(['test', folder])).code, 0)
  writeFileSync(join(folder, 'asks', 'answer.json'), '{}')
  t.equal((await run(['test', folder])).code, 1)
  t.equal((await run(['test', folder, '--update'])).code, 0)
  t.equal((await run(['test', folder])).code, 0)
})

t.test(
  'namespaces.yaml beside the cases is used unless --namespaces names another file',
  async (t) => {
    const folder = t.testdir({
      silent: { 'review.json': SILENT },
      'namespaces.yaml': NAMESPACES,
      'others.yaml': NAMESPACES.replace('perf-sysstat', 'io-sysstat'),
    })
    await run(['test', folder, '--update'])
    t.match(read(folder, 'silent'), /"name": "perf-sysstat"/)
    await run(['test', folder, '--update', '--namespaces', join(folder, 'others.yaml')])
    t.match(read(folder, 'silent'), /"name": "io-sysstat"/)
  },
)

t.test(
  'a case without a review, or with an invalid review, fails, also with --update',
  async (t) => {
    const folder = t.testdir({
      a: { 'answer.json': '{}' },
      b: { 'review.json': '{}', 'answer.json': '{}' },
      c: { 'review.json': 'nothing' },
      d: { 'README.md': 'no case' },
    })
    for (const options of [[], ['--update']]) {
      const { code, out } = await run(['test', folder, ...options])
      t.equal(code, 1)
      t.match(out, /^TAP version 14\n1\.\.3\n/)
      t.match(out, /\nnot ok 1 - a\n(.*\n){2} {4}there is answer\.json but no review\.json\n/)
      t.match(out, /\nnot ok 2 - b\n(.*\n){2} {4}.*review\.json is not a valid AdmissionReview: /)
      t.match(out, /\nnot ok 3 - c\n(.*\n){2} {4}.*review\.json is not JSON: /)
    }
    t.equal(readFileSync(join(folder, 'a', 'answer.json'), 'utf8'), '{}')
  },
)

t.test('a folder without a case, a missing folder and a file give exit code 2', async (t) => {
  const folder = t.testdir({ empty: {}, file: '' })
  for (const [path, sentence] of [
    [
      join(folder, 'empty'),
      /^ridealong: .*empty has no case; a case is a folder with review\.json\n$/,
    ],
    [join(folder, 'none'), /^ridealong: cannot read .*none: no such file or directory \(ENOENT\)/],
    [join(folder, 'file'), /^ridealong: cannot read .*file: not a directory \(ENOTDIR\)/],
  ] as const) {
    const { code, out, err } = await run(['test', path])
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, sentence)
  }
})

t.test('--observer-image changes the answers', async (t) => {
  const folder = t.testdir({ asks: { 'review.json': ASKS } })
  await run(['test', folder, '--update'])
  const image = 'example.com/mirror/observer:2'
  const { code, out } = await run(['test', folder, '--observer-image', image])
  t.equal(code, 1)
  t.match(out, `"image": "${image}"`)
})
