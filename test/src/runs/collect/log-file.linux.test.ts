import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { collect } from '../../../../cli/collect/collect.ts'
import { openLogFile } from '../../../../src/runs/collect/log-file.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { pod } from './pod.ts'

/** Mounts a small file system until the end of the test, when none of its files may be open. */
function smallFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder])
  t.teardown(() => {
    execFileSync('umount', [folder])
    rmdirSync(folder)
  })
  return folder
}

t.test('a file whose last text cannot be written is closed and removed', async (t) => {
  const folder = smallFolder(t)
  writeFileSync(join(folder, 'filler'), Buffer.alloc(230_000))
  const file = await openLogFile(join(folder, 'log'), '')
  await file.write('x'.repeat(60_000))
  await t.rejects(file.complete(), { name: 'WriteError', message: /no space left on device/ })
  t.strictSame(readdirSync(folder), ['filler'])
})

t.test('if the disk is full, the message says so, and the run can be continued', async (t) => {
  const folder = smallFolder(t)
  const log = readFileSync(
    new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
    'utf8',
  )
  const indexes = [0, 1, 2, 3]
  const filler = join(folder, 'filler')
  writeFileSync(filler, Buffer.alloc(230_000))
  const [head = '', body = ''] = log.split('METRICS OPERATOR TIMEPOINT\n', 2)
  const long = `${head}${`METRICS OPERATOR TIMEPOINT\n${body}`.repeat(60)}`
  const logs = indexes.map((index) => [
    `lammps-${index}-abcde/perf-sysstat`,
    index === 0 ? log : long,
  ])
  const { kubeconfig } = await standIn(t, {
    pods: () => indexes.map((index) => pod({ index })),
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
})
