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
import t from 'tap'
import { collect } from '../../../../cli/collect/collect.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { pod } from './pod.ts'

t.test('if the disk is full, the message says so, and the run can be continued', async (t) => {
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
