import { chownSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CollectOptions, collect } from '../../../../cli/collect/collect.ts'
import { JOURNAL } from '../../../../src/runs/collect/journal.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { pod } from './pod.ts'

// Tests of `collect` in a folder in which another user has created files, such as /tmp.

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const NOBODY = 65_534

/** Returns a function that collects the log of a pod, and the kubeconfig of its cluster. */
async function collector(t: Test) {
  const world = { pods: () => [pod({ rank: 0 })], logs: { 'lammps-0-abcde/perf-sysstat': LOG } }
  const { kubeconfig } = await standIn(t, world)
  const collectTo = (to: string, more: Partial<CollectOptions> = {}) =>
    collect(
      ['job/lammps'],
      { output: 'jsonl', parallel: 2, kubeconfig, to, ...more },
      createSession(),
    )
  return { collectTo, kubeconfig }
}

/** Returns the line of a journal about a log with these names. */
function entry(pod: string, container: string): string {
  const texts = { namespace: 'hpc', pod, container, uid: 'u', format: 'f', facts: 'f' }
  const others = { owner: null, restarts: 0, bytes: 1, samples: 1, cuts: [] }
  return `${JSON.stringify({ ...texts, ...others })}\n`
}

t.test('FILE.parts of another user, or a link, is not used', async (t) => {
  const { collectTo } = await collector(t)
  const folder = t.testdir({ other: {}, elsewhere: {} })
  const parts = join(folder, 'out.jsonl.parts')
  mkdirSync(parts)
  chownSync(parts, NOBODY, NOBODY)
  await t.rejects(collectTo(join(folder, 'out.jsonl')), {
    name: 'UsageError',
    message: /out\.jsonl\.parts belongs to another user \(uid 65534\); remove it, or name another/,
  })
  symlinkSync('elsewhere', join(folder, 'next.jsonl.parts'))
  await t.rejects(collectTo(join(folder, 'next.jsonl')), {
    message: /next\.jsonl\.parts is no folder; remove it/,
  })
  t.strictSame(readdirSync(join(folder, 'elsewhere')), [])
})

t.test('a journal of another user is not used', async (t) => {
  const { collectTo } = await collector(t)
  const folder = t.testdir({ [JOURNAL]: entry('lammps-0-abcde', 'perf-sysstat') })
  chownSync(join(folder, JOURNAL), NOBODY, NOBODY)
  const message = /it belongs to another user \(uid 65534\); remove it$/
  await t.rejects(collectTo(`${folder}/`), { name: 'UsageError', message })
})
