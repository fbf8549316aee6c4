import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { collect } from '../../../../cli/collect/collect.ts'
import { openLogFile } from '../../../../src/runs/collect/log-file.ts'
import { logName } from '../../../../src/runs/collect/log-identity.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { pod } from './pod.ts'

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
  const name = (end: string) => logName({ pod: `${'a'.repeat(250)}${end}`, container: 'network' })
  t.equal(name('x').length, 220)
  t.not(name('x'), name('y'))
  t.equal(logName({ pod: 'a', container: 'b' }), 'a.b')
})

const isRoot = process.getuid?.() === 0 && process.platform === 'linux'
const skip = isRoot ? false : 'needs root on Linux, to mount a small file system'

t.test(
  'if the disk is full, the message says so, and the run can be continued',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ridealong-full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder])
    t.teardown(() => {
      execFileSync('umount', [folder])
      rmdirSync(folder)
    })
    const log = readFileSync(
      new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
      'utf8',
    )
    const ranks = [0, 1, 2, 3]
    const filler = join(folder, 'filler')
    writeFileSync(filler, Buffer.alloc(230_000))
    const [head = '', body = ''] = log.split('METRICS OPERATOR TIMEPOINT\n', 2)
    const long = `${head}${`METRICS OPERATOR TIMEPOINT\n${body}`.repeat(60)}`
    const logs = ranks.map((rank) => [`lammps-${rank}-abcde/perf-sysstat`, rank === 0 ? log : long])
    const { kubeconfig } = await standIn(t, {
      pods: () => ranks.map((rank) => pod({ rank })),
      logs: Object.fromEntries(logs),
    })
    for (const to of [`${folder}/logs/`, join(folder, 'run')]) {
      const options = { output: 'logs', parallel: 2, kubeconfig, to } as const
      const said: string[] = []
      await t.rejects(collect(['job/lammps'], options, createSession(said)), {
        name: 'UsageError',
        message: /^cannot continue writing .*: no space left on device \(ENOSPC\)$/,
      })
      t.strictSame(said, [])
      t.notOk(existsSync(join(folder, 'run')))
      const [name = ''] = readdirSync(folder).filter((name) => name !== 'filler')
      const files = readdirSync(join(folder, name))
      t.notOk(
        files.some((file) => file.endsWith('.lock')),
        'the folder is unlocked',
      )
      execFileSync('rm', ['-r', join(folder, name)])
    }
  },
)
