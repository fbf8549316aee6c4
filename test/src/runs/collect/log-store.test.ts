import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { JOURNAL } from '../../../../src/runs/collect/journal.ts'
import { run } from '../../../cli/command.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { collector, journalEntry, LOG } from './collector.ts'
import { pod } from './pod.ts'

// Tests of `collect` in a folder in which another user has created files, such as /tmp.

const NAME = 'lammps-0-abcde.perf-sysstat.jsonl'

t.test('a planted journal removes no file outside of its folder', async (t) => {
  const { collectTo } = await collector(t)
  const folder = t.testdir({ victim: { 'results.jsonl': 'mine', 'results.jsonl.partial': 'mine' } })
  const file = join(folder, 'out.jsonl')
  mkdirSync(`${file}.parts`)
  const lines = [
    journalEntry('../victim/x', '/../results'),
    journalEntry('..', '/../victim/results'),
    journalEntry(join(folder, 'victim'), '/../victim/results'),
    journalEntry('../victim/results', ''),
  ]
  writeFileSync(join(`${file}.parts`, JOURNAL), lines.join(''))
  t.equal(await collectTo(file), 0)
  t.strictSame(readdirSync(join(folder, 'victim')), ['results.jsonl', 'results.jsonl.partial'])
})

t.test('a journal that is a link, or has a second name, is not written', async (t) => {
  for (const plant of [symlinkSync, linkSync]) {
    const { collectTo } = await collector(t)
    const folder = t.testdir({ bashrc: 'mine\n', logs: {} })
    plant(join(folder, 'bashrc'), join(folder, 'logs', JOURNAL))
    const message = /^cannot continue writing .*logs\/\.ridealong-collect\.jsonl: /
    await t.rejects(collectTo(join(folder, 'logs/')), { name: 'UsageError', message })
    t.equal(readFileSync(join(folder, 'bashrc'), 'utf8'), 'mine\n')
  }
})

t.test('FILE.parts is a folder that only its user may change', async (t) => {
  const { collectTo } = await collector(t)
  // The log of the second pod does not exist, so the log of the first is kept for the next run.
  const logs = { 'lammps-0-abcde/perf-sysstat': LOG }
  const { kubeconfig } = await standIn(t, {
    pods: () => [0, 1].map((index) => pod({ index })),
    logs,
  })
  const file = join(t.testdir({}), 'out.jsonl')
  t.equal(await collectTo(file, { kubeconfig }), 1)
  t.equal(lstatSync(`${file}.parts`).mode & 0o777, 0o700)
})

t.test('a link under the name of a log is replaced, also with --follow', async (t) => {
  for (const follow of [false, true]) {
    const { collectTo } = await collector(t)
    const folder = t.testdir({ victim: 'mine', logs: {} })
    const path = join(folder, 'logs', NAME)
    symlinkSync(join(folder, 'victim'), path)
    t.equal(await collectTo(join(folder, 'logs/'), { follow }), 0)
    t.ok(lstatSync(path).isFile(), `follow ${follow}`)
    t.match(readFileSync(path, 'utf8'), 'perf-sysstat')
    t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'mine')
  }
})

t.test('a link under the temporary name of a file is replaced, also with --follow', async (t) => {
  for (const follow of [false, true]) {
    const { collectTo } = await collector(t)
    const folder = t.testdir({ victim: 'mine' })
    const file = join(folder, 'out.jsonl')
    symlinkSync(join(folder, 'victim'), `${file}.partial`)
    t.equal(await collectTo(file, { follow }), 0)
    t.match(readFileSync(file, 'utf8'), 'perf-sysstat')
    t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'mine', `follow ${follow}`)
    t.strictSame(readdirSync(folder).sort(), ['out.jsonl', 'victim'])
  }
})

t.test('collect and report write to /dev/stdout, and replace no device', async (t) => {
  const { kubeconfig } = await collector(t)
  const before = lstatSync('/dev/stdout').ino
  for (const path of ['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1', '-']) {
    const where = ['--kubeconfig', kubeconfig, '-n', 'hpc', '--to', path]
    const { code, out } = await run(['collect', 'job/lammps', ...where])
    t.equal(code, 0)
    t.match(out, /^\{"kind":"process",/, path)
  }
  const page = await run(['report', '-', '--to', '/dev/stdout', '--output', 'json'], LOG)
  t.match(page, { code: 0, out: /^\{/ })
  t.match(await run(['report', '-', '--to', '/dev/null'], LOG), { code: 0, err: /wrote .dev.null/ })
  t.equal(lstatSync('/dev/stdout').ino, before)
  t.ok(lstatSync('/dev/null').isCharacterDevice())
})
