import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../cli/command.ts'
import { mismatchesIn, noticesOf, rowsOf } from '../observers/json-rows.ts'
import { openFolder, type Running, until } from '../observers/pod.ts'
import { observerTests, onPath, type Row, summaryOf } from '../observers/prerequisites.ts'
import { profiledPod } from './python/profiled-pod.ts'
import { systemPython } from './python/sampler.ts'
import { recordedPod } from './torch/late-rank.ts'
import { program, STAND_IN } from './torch/torch-tool.ts'
import { tracedPod } from './torch/traced-pod.ts'
import { NATIVE } from './watched-pod.ts'

// The container of the target is started again while its observer goes on, as with
// restartPolicy: OnFailure. Each start is an attempt.

const options = observerTests()
const python = systemPython()

/** Ends programs as the kubelet does without a grace period. */
async function kill(...programs: readonly Running[]): Promise<void> {
  for (const one of programs) one.signal('SIGKILL')
  await Promise.all(programs.map(({ ended }) => ended))
}

/** Ends the observer, and returns its summary and its report. */
async function endOf(watching: Running) {
  watching.signal('SIGTERM')
  await watching.ended
  const report = await run(['report', '-o', 'json', '-'], watching.log())
  return { summary: summaryOf(watching.log())[0], report: JSON.parse(report.out) }
}

/** Returns some values of rows, by the attempt of their processes. */
function byAttempt<Value>(rows: readonly Row[], read: (row: Row) => Value) {
  const groups = Map.groupBy(rows, ({ attempt }) => attempt ?? 1)
  return Object.fromEntries([...groups].map(([attempt, own]) => [attempt, own.map(read)]))
}

t.test('torch-trace counts the traces of the last attempt', options, async (t) => {
  const { watching, start } = await tracedPod(t, { step: 600, steps: 4 }, {}, NATIVE)
  const rank = (number: number, ...words: readonly string[]) =>
    start('env', `RANK=${number}`, python, program('kineto.py'), '9000', ...words)
  const before = [await rank(0), await rank(1, 'none')]
  await until(watching, () => rowsOf(watching, 'trace').length === 1)
  await kill(...before)
  const after = [await rank(0, 'none'), await rank(1)]
  const complete = () => rowsOf(watching, 'trace').filter(({ trace }) => trace === 'complete')
  await until(watching, () => complete().length === 2)
  await kill(...after)
  const { summary, report } = await endOf(watching)
  t.match(summary, { traces: 1, incomplete: 0, missing: 1 })
  const rows = rowsOf(watching, 'trace')
  t.strictSame(
    byAttempt(rows, ({ world_rank, trace }) => [world_rank, trace]),
    {
      1: [
        [0, 'complete'],
        [1, 'missing'],
      ],
      2: [
        [1, 'complete'],
        [0, 'missing'],
      ],
    },
  )
  t.strictSame(mismatchesIn(watching, 'torch-trace'), [])
  t.ok(noticesOf(watching).includes('container app was started again'))
  t.match(report.traces, [
    { worldRank: 0, trace: 'missing' },
    { worldRank: 1, trace: 'complete' },
  ])
})

/** Makes calls, and then waits. */
const calls = (count: number) =>
  'import time, torch, torch.distributed as dist\n' +
  `dist.init_process_group("gloo")\nfor _ in range(${count}): dist.all_reduce(torch.zeros(1))\n` +
  'time.sleep(600)'

t.test('torch-collectives counts the calls of the last attempt', options, async (t) => {
  const { watching, start } = await recordedPod(t, { PYTHONPATH: STAND_IN }, 1, NATIVE)
  const rows = () => rowsOf(watching, 'collective')
  for (const [count, sum] of [
    [30, 30],
    [10, 40],
  ] as const) {
    const app = await start(python, '-c', calls(count))
    await until(watching, () => rows().length === sum)
    await kill(app)
  }
  const { summary } = await endOf(watching)
  t.match(summary, { ranks: 1, calls: 10 })
  t.strictSame(
    [...Map.groupBy(rows(), ({ attempt }) => attempt)].map(([attempt, own]) => [
      attempt,
      own.length,
    ]),
    [
      [undefined, 30],
      [2, 10],
    ],
  )
  t.strictSame(mismatchesIn(watching, 'torch-collectives'), [])
})

t.test('a rank of an earlier attempt is late for nobody', options, async (t) => {
  const master = openFolder('ridealong-master-')
  t.teardown(() => rm(master, { recursive: true, force: true }))
  const env = { PYTHONPATH: STAND_IN, WORLD_SIZE: '2', MASTER_FOLDER: master }
  const { watching, start } = await recordedPod(t, env, 1, NATIVE)
  const pipes = [join(master, '0'), join(master, '1')]
  const ranks = (steps: number) => {
    execFileSync('rm', ['-f', ...pipes])
    execFileSync('mkfifo', pipes)
    const words = [python, program('late.py'), String(steps)]
    return Promise.all([0, 1].map((rank) => start(onPath('env'), `RANK=${rank}`, ...words)))
  }
  const before = await ranks(9000)
  await until(watching, () => rowsOf(watching, 'collective').length > 100)
  await kill(...before)
  const after = await ranks(60)
  t.strictSame(await Promise.all(after.map(({ ended }) => ended)), [0, 0])
  const ended = () => rowsOf(watching, 'process').filter(({ state }) => state === 'ended')
  await until(watching, () => ended().length === 4)
  const { summary, report } = await endOf(watching)
  t.match(summary, { ranks: 2, calls: 122 })
  const [late] = report.findings.filter(({ rule }: Row) => rule === 'late-in-torch-collectives')
  const facts: readonly Row[] = late.pods[0].facts
  t.equal(facts.find(({ name }) => name === 'recorded calls')?.value, 61)
})

/** Waits in a function with this name. */
const waitIn = (name: string) => `import time\ndef ${name}():\n  time.sleep(600)\n${name}()`

t.test('python-profile counts the profiles of the last attempt', options, async (t) => {
  const { watching, start } = await profiledPod(t, {}, {}, NATIVE)
  const waits = (name: string) =>
    rowsOf(watching, 'now').filter(({ stack }) => String(stack).includes(`${name} (`)).length > 2
  for (const name of ['first', 'second']) {
    const app = await start(python, '-c', waitIn(name))
    await until(watching, () => waits(name))
    await kill(app)
  }
  const ended = () => rowsOf(watching, 'process').filter(({ state }) => state === 'ended')
  await until(watching, () => ended().length === 2)
  const { summary, report } = await endOf(watching)
  t.match(summary, { profiles: 1 })
  const [, last] = ended()
  t.equal(summary?.wall, last?.main_seconds)
  t.strictSame(mismatchesIn(watching, 'python-profile'), [])
  const functions = report.profiles.flatMap(({ functions }: { functions: readonly Row[] }) =>
    functions.map(({ function: name }) => String(name)),
  )
  t.ok(
    functions.some((name: string) => name.startsWith('second (')),
    functions.join(),
  )
  t.notOk(
    functions.some((name: string) => name.startsWith('first (')),
    functions.join(),
  )
})
