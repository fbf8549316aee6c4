import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import type { ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CollectOptions, collect } from '../../../../cli/collect/collect.ts'
import { LOCK } from '../../../../src/runs/collect/folder-lock.ts'
import { describeRemaining } from '../../../../src/runs/collect/gather-once.ts'
import { JOURNAL } from '../../../../src/runs/collect/journal.ts'
import { start } from '../../../cli/command.ts'
import { createSession } from '../../../cli/host.ts'
import { standIn } from '../../../stand-ins/pod-logs.ts'
import { until } from '../../../until.ts'
import { pod } from './pod.ts'

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const PODS = [0, 1, 2, 3]
const RUNNING = { phase: 'Running', state: { running: {} } }
const nameOf = (pod_index: number) => `lammps-${pod_index}-abcde`

type Log = string | ((response: ServerResponse) => void)

/**
 * Imitates an apiserver with four pods. The logs and pods can be changed between two runs, and
 * `readLogs` returns the pods whose logs were requested since the last call.
 */
async function cluster(t: Test) {
  const logs: Record<string, Log> = {}
  for (const index of PODS) logs[`${nameOf(index)}/perf-sysstat`] = LOG
  const world = { pods: PODS.map((index) => pod({ index })) }
  const { kubeconfig, asked } = await standIn(t, { pods: () => world.pods, logs })
  const run = async (to: string, more: Partial<CollectOptions> = {}) => {
    const said: string[] = []
    const options = { output: 'jsonl', parallel: 2, kubeconfig, to, ...more } as const
    const code = await collect(['job/lammps'], options, createSession(said))
    return { code, said }
  }
  const readLogs = () =>
    asked.splice(0).flatMap((url) => /lammps-(\d)-abcde\/log/.exec(url)?.[1] ?? [])
  const setLog = (pod_index: number, log: Log) => {
    logs[`${nameOf(pod_index)}/perf-sysstat`] = log
  }
  return { world, run, readLogs, setLog, kubeconfig }
}

const fileOf = (folder: string, pod_index: number) =>
  join(folder, `${nameOf(pod_index)}.perf-sysstat.jsonl`)

t.test('a second run into the same folder reads no log that is complete', async (t) => {
  const { run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  const first = await run(folder)
  t.strictSame(first, { code: 0, said: [`4 of 4 logs, 12 samples, as jsonl to ${folder}`] })
  t.strictSame(readLogs().sort(), ['0', '1', '2', '3'])
  const text = readFileSync(fileOf(folder, 2), 'utf8')
  const second = await run(folder)
  t.strictSame(second, {
    code: 0,
    said: ['collected 4 of 4 logs before; 0 remain', ...first.said],
  })
  t.strictSame(readLogs(), [])
  t.equal(readFileSync(fileOf(folder, 2), 'utf8'), text)
})

t.test('a log is read again if its file is missing or has another size', async (t) => {
  const { run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  await run(folder)
  readLogs()
  const text = readFileSync(fileOf(folder, 1), 'utf8')
  rmSync(fileOf(folder, 0))
  truncateSync(fileOf(folder, 1), 100)
  const { said } = await run(folder)
  t.equal(said[0], 'collected 2 of 4 logs before; 2 remain')
  t.strictSame(readLogs().sort(), ['0', '1'])
  t.equal(readFileSync(fileOf(folder, 1), 'utf8'), text)
})

t.test('the log of a running observer, and of a restarted one, is read again', async (t) => {
  const { world, run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  world.pods = PODS.map((index) => pod({ index, ...(index === 3 ? RUNNING : {}) }))
  await run(folder)
  readLogs()
  const restarted = pod({ index: 0 }) as { status: { initContainerStatuses: object[] } }
  restarted.status.initContainerStatuses = [
    { name: 'perf-sysstat', restartCount: 1, state: { terminated: {} } },
  ]
  world.pods = PODS.map((index) => (index === 0 ? restarted : pod({ index })))
  const { said } = await run(folder)
  t.equal(said[0], 'collected 2 of 4 logs before; 2 remain')
  t.strictSame(readLogs().sort(), ['0', '3'])
})

t.test('the log of another pod with the same name is read', async (t) => {
  const { world, run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  await run(folder)
  readLogs()
  const { metadata, ...rest } = pod({ index: 1 }) as { metadata: object }
  const other = { ...rest, metadata: { ...metadata, uid: 'another' } }
  world.pods = PODS.map((index) => (index === 1 ? other : pod({ index })))
  await run(folder)
  t.strictSame(readLogs(), ['1'])
})

t.test('all logs are read again for another format', async (t) => {
  const { run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  await run(folder)
  readLogs()
  const { said } = await run(folder, { output: 'logs' })
  t.strictSame(said, [`4 of 4 logs, 12 samples, as logs to ${folder}`])
  t.equal(readLogs().length, 4)
})

t.test('lines of the journal that a killed run left incomplete are ignored', async (t) => {
  const { run, readLogs } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  await run(folder)
  readLogs()
  const path = join(folder, JOURNAL)
  const lines = readFileSync(path, 'utf8')
  writeFileSync(path, `no JSON\n{"pod":"x"}\n${lines.slice(0, -20)}`)
  const { said } = await run(folder)
  t.equal(said[0], 'collected 3 of 4 logs before; 1 remain')
  t.equal(readLogs().length, 1)
  const third = await run(folder)
  t.equal(third.said[0], 'collected 4 of 4 logs before; 0 remain', 'the new line can be read')
})

t.test('a file as --to is made from the logs of both runs', async (t) => {
  const { run, readLogs, setLog } = await cluster(t)
  const folder = t.testdir({})
  const file = join(folder, 'run.jsonl')
  await run(file)
  const expected = readFileSync(file, 'utf8')
  t.strictSame(readdirSync(folder), ['run.jsonl'], 'the parts of a complete run are removed')
  rmSync(file)
  setLog(2, (response) => {
    response.writeHead(404).end('{"message":"the node is gone"}')
  })
  readLogs()
  const { code, said } = await run(file)
  t.equal(code, 1)
  t.strictSame(said, [
    'the log of hpc/lammps-2-abcde/perf-sysstat is missing or incomplete: the node is gone',
    `3 of 4 logs, 9 samples, as jsonl to ${file}`,
    `to collect only the missing logs, run the same command again: ${file}.parts has the others`,
  ])
  t.equal(readLogs().filter((index) => index === '2').length, 1, 'a 404 is not repeated')
  setLog(2, LOG)
  const second = await run(file)
  t.equal(second.code, 0)
  t.equal(second.said[0], 'collected 3 of 4 logs before; 1 remain')
  t.strictSame(readLogs(), ['2'])
  t.equal(readFileSync(file, 'utf8'), expected)
  t.strictSame(readdirSync(folder), ['run.jsonl'])
})

t.test('the file keeps the logs of pods that were deleted between two runs', async (t) => {
  const { world, run, setLog } = await cluster(t)
  const owned = (pod_index: number, uid: string) => {
    const { metadata, ...rest } = pod({ index: pod_index }) as { metadata: object }
    const ownerReferences = [{ kind: 'Job', name: 'lammps', uid, controller: true }]
    return { ...rest, metadata: { ...metadata, ownerReferences } }
  }
  const file = join(t.testdir({}), 'run.jsonl')
  world.pods = [owned(0, 'earlier'), owned(1, 'now'), owned(2, 'now'), owned(3, 'now')]
  setLog(3, (response) => {
    response.writeHead(404).end()
  })
  await run(file)
  world.pods = [owned(2, 'now'), owned(3, 'now')]
  setLog(3, LOG)
  const { code, said } = await run(file)
  t.equal(code, 0)
  t.strictSame(said.slice(0, 2), [
    'collected 1 of 2 logs before; 1 remain',
    'kept 1 logs of pods that do not exist any more',
  ])
  const pods = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).pod)
  const names = [...new Set(pods)]
  t.strictSame(names, [2, 3, 1].map(nameOf), 'the log of the earlier Job is not in the file')
})

t.test('a run that was killed is continued, and leaves no log that only looks whole', async (t) => {
  const { readLogs, setLog, run, kubeconfig } = await cluster(t)
  const folder = join(t.testdir({}), 'logs/')
  let isBegun = false
  setLog(3, (response) => {
    response.write(LOG.slice(0, LOG.length / 2))
    isBegun = true
  })
  const words = ['collect', 'job/lammps', '--parallel', '1', '--to', folder]
  const child = start([...words, '--kubeconfig', kubeconfig])
  const partial = `${fileOf(folder, 3)}.partial`
  await until('the last log is being read', () => isBegun && existsSync(partial))
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.notOk(existsSync(fileOf(folder, 3)))
  t.ok(existsSync(join(folder, LOCK)), 'the killed run could not unlock the folder')
  readLogs()
  setLog(3, LOG)
  const { code, said } = await run(folder)
  t.strictSame(said, [
    'collected 3 of 4 logs before; 1 remain',
    `4 of 4 logs, 12 samples, as jsonl to ${folder}`,
  ])
  t.equal(code, 0)
  t.strictSame(readLogs(), ['3'])
  t.notOk(existsSync(partial))
})

t.test('after SIGINT, the message says how to collect the rest', async (t) => {
  const { setLog, run, kubeconfig } = await cluster(t)
  const folder = t.testdir({})
  const file = join(folder, 'run.jsonl')
  let isBegun = false
  setLog(3, (response) => {
    response.write(LOG.slice(0, LOG.length / 2))
    isBegun = true
  })
  const words = ['collect', 'job/lammps', '--parallel', '1', '--to', file]
  const child = start([...words, '--kubeconfig', kubeconfig])
  let err = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  await until('the last log is being read', () => isBegun)
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.equal(
    err,
    `ridealong: 3 of 4 logs, 9 samples, as jsonl to ${file}.parts\n` +
      `ridealong: to collect only the missing logs, run the same command again: ${file}.parts ` +
      'has the others\n',
  )
  t.strictSame(readdirSync(folder), ['run.jsonl.parts'], 'there is no incomplete file')
  setLog(3, LOG)
  t.equal((await run(file)).said[0], 'collected 3 of 4 logs before; 1 remain')
  t.strictSame(readdirSync(folder), ['run.jsonl'])
})

t.test('only one collect can write to a folder at a time', async (t) => {
  const { run } = await cluster(t)
  const folder = t.testdir({})
  const path = join(folder, LOCK)
  // The parent of this process certainly runs.
  for (const holder of [`${process.ppid} ${hostname()}`, '1 another-host', '']) {
    writeFileSync(path, holder)
    await t.rejects(run(folder), {
      name: 'UsageError',
      message: /^another collect.* writes to .*; wait until it has ended, or remove .*\.lock if /,
    })
  }
  for (const follow of [true, false]) {
    writeFileSync(path, `${2 ** 22 + 1} ${hostname()}`)
    t.equal((await run(folder, { follow })).code, 0, 'the lock of a dead process is replaced')
    t.notOk(existsSync(path))
  }
})

t.test('--follow replaces the files in a folder, and the next run reads all logs', async (t) => {
  const { run, readLogs } = await cluster(t)
  const folder = t.testdir({})
  await run(folder)
  await run(folder, { follow: true })
  t.notOk(existsSync(join(folder, JOURNAL)))
  readLogs()
  await run(folder)
  t.equal(readLogs().length, 4)
})

t.test('other files in FILE.parts are kept', async (t) => {
  const { run } = await cluster(t)
  const folder = t.testdir({})
  const file = join(folder, 'run.csv')
  mkdirSync(`${file}.parts`)
  appendFileSync(join(`${file}.parts`, 'notes.txt'), 'mine')
  t.equal((await run(file, { output: 'csv' })).code, 0)
  t.strictSame(readdirSync(`${file}.parts`), ['notes.txt'])
  t.ok(statSync(file).isFile())
})

t.test('the remaining time is estimated from the mean time of the items', async (t) => {
  t.equal(describeRemaining(10, 90, 5000), 'about 45 s left')
  t.equal(describeRemaining(400, 1, 5000), 'about 1 s left')
  t.equal(describeRemaining(100, 900, 20_000), 'about 3 min left')
  t.equal(describeRemaining(10, 990, 60_000), 'about 1 h 39 min left')
  t.equal(describeRemaining(1, 1, 59_600), 'about 1 min left')
})

t.test('without a measured item there is no estimate', async (t) => {
  t.equal(describeRemaining(0, 100, 60_000), undefined)
  t.equal(describeRemaining(10, 90, 100), undefined, 'too early')
  t.equal(describeRemaining(100, 0, 60_000), undefined, 'nothing remains')
})
