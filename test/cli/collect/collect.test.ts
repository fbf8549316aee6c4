import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { collect } from '../../../cli/collect/collect.ts'
import { JOURNAL } from '../../../src/runs/collect/journal.ts'
import { artifactLine, partsOf } from '../../src/runs/collect/artifact-lines.ts'
import { pod } from '../../src/runs/collect/pod.ts'
import { nobody, standIn } from '../../stand-ins/pod-logs.ts'
import { run, start } from '../command.ts'
import { createSession } from '../host.ts'

const LOG = readFileSync(
  new URL('../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const SUMMARY = '{"metric":"perf-sysstat","timepoints":3}\n{"program":"lmp","cpu_seconds":9.5}\n'

const PODS = [0, 1, 2, 3]
const logsOf = (indexes: readonly number[], log = LOG) => {
  return Object.fromEntries(indexes.map((index) => [`lammps-${index}-abcde/perf-sysstat`, log]))
}
const pods = () => PODS.map((index) => pod({ index }))

const parsed = (text: string) => {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

t.test('the logs of all pods of a Job are written as JSON Lines with their pods', async (t) => {
  const { kubeconfig, asked } = await standIn(t, { pods, logs: logsOf(PODS) })
  const { code, out, err } = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
  t.equal(code, 0)
  const rows = parsed(out)
  t.equal(rows.filter(({ kind }) => kind === 'process').length, 12)
  t.strictSame(
    rows
      .filter(({ kind }) => kind === 'log')
      .map(({ pod_index, pod, node, source }) => [pod_index, pod, node, source]),
    PODS.map((index) => [
      `${index}`,
      `lammps-${index}-abcde`,
      'node-1',
      `hpc/lammps-${index}-abcde/perf-sysstat`,
    ]),
    'the logs are in the order of the pods',
  )
  const end = { container: 'lammps', reason: null, exitCode: 0, signal: null, finishedAt: null }
  const ended = [{ ...end, restarted: false, deleted: false }]
  for (const row of rows.filter(({ kind }) => kind === 'log')) t.strictSame(row.ended, ended)
  t.equal(err, 'ridealong: 4 of 4 logs, 12 samples, as jsonl to standard output\n')
  t.match(
    asked[0],
    '/api/v1/namespaces/hpc/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dlammps',
  )
})

t.test(
  'CSV output has one header line, and no temporary file remains in the folder of --to',
  async (t) => {
    const { kubeconfig } = await standIn(t, { pods, logs: logsOf(PODS) })
    const folder = t.testdir({})
    const file = join(folder, 'run.csv')
    const args = ['collect', '-l', 'app=x', '-o', 'csv', '--to', file, '--kubeconfig', kubeconfig]
    const { code, out } = await run(args)
    t.equal(code, 0)
    t.equal(out, '')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    t.equal(lines.length, 13)
    t.equal(lines.filter((line) => line.startsWith('kind,source,metric,')).length, 1)
    t.strictSame(readdirSync(folder), ['run.csv'])
  },
)

t.test(
  'with --output logs, each log is written unchanged to its own file in the folder of --to',
  async (t) => {
    const { kubeconfig } = await standIn(t, { pods, logs: logsOf(PODS) })
    const folder = join(t.testdir({}), 'logs/')
    const args = ['collect', 'job/lammps', '-o', 'logs', '--to', folder, '--kubeconfig', kubeconfig]
    t.equal((await run(args)).code, 0)
    t.strictSame(readdirSync(folder).sort(), [
      JOURNAL,
      ...PODS.map((index) => `lammps-${index}-abcde.perf-sysstat.log`),
    ])
    t.equal(readFileSync(join(folder, 'lammps-2-abcde.perf-sysstat.log'), 'utf8'), LOG)
  },
)

const PROFILE = Buffer.alloc(5000, 'a profile of gperftools ')

/** Returns a log of cpu-profile with these lines at its end. */
function profileLog(lines: readonly string[]): string {
  const row = { section: 'process', container: 'lammps', program: 'lmp', pid: 7, samples: 9 }
  return [
    'METADATA START {"metricName":"cpu-profile","metricOptions":{"artifacts":true}}',
    'METADATA END',
    'METRICS OPERATOR COLLECTION START',
    JSON.stringify({ time: '2026-01-01T12:00:00.000Z', ...row }),
    ...lines,
    'METRICS OPERATOR COLLECTION END',
    'SUMMARY START',
    '{"metric":"cpu-profile","profiles":1}',
    'SUMMARY END\n',
  ].join('\n')
}

/** Returns the pods of a Job with cpu-profile, and their logs with these lines. */
function profiled(lines: readonly (readonly string[])[]) {
  const logs = lines.map((own, index) => [`lammps-${index}-abcde/cpu-profile`, profileLog(own)])
  const metrics = ['cpu-profile']
  return {
    pods: () => lines.map((_, index) => pod({ index, metrics })),
    logs: Object.fromEntries(logs) as Record<string, string>,
  }
}

const WHOLE = partsOf('cpu_7', PROFILE).map(artifactLine)
const artifactsTo = (to: string) => ['collect', 'job/lammps', '-o', 'artifacts', '--to', to]

t.test('with --output artifacts, the raw files are written into a folder per pod', async (t) => {
  const { kubeconfig } = await standIn(t, profiled([WHOLE, WHOLE]))
  for (const follow of [[], ['--follow']]) {
    const folder = join(t.testdir({}), 'raw')
    const args = [...artifactsTo(folder), '--kubeconfig', kubeconfig, ...follow]
    const { code, out, err } = await run(args)
    t.strictSame([code, out], [0, ''], err)
    t.equal(err, `ridealong: 2 raw files of 2 logs, to ${folder}\n`)
    t.strictSame(readdirSync(folder).sort(), ['lammps-0-abcde', 'lammps-1-abcde'])
    t.strictSame(readdirSync(join(folder, 'lammps-1-abcde/cpu-profile')), ['cpu_7'])
    const found = readFileSync(join(folder, 'lammps-1-abcde/cpu-profile/cpu_7'))
    t.ok(found.equals(PROFILE))
  }
})

t.test('a raw file that is missing or incomplete is named, and the exit code is 1', async (t) => {
  const left = artifactLine({ file: 'cpu_8', missing: 'no room' })
  const world = profiled([WHOLE, [...WHOLE, left], WHOLE.slice(0, 1)])
  const { kubeconfig } = await standIn(t, world)
  const folder = t.testdir({})
  const { code, err } = await run([...artifactsTo(folder), '--kubeconfig', kubeconfig])
  t.equal(code, 1)
  t.strictSame(err.trimEnd().split('\n'), [
    'ridealong: hpc/lammps-1-abcde/cpu-profile: raw file cpu_8 is not in the log: no room',
    'ridealong: hpc/lammps-2-abcde/cpu-profile: raw file cpu_7 is missing or incomplete: ' +
      `part 2 of ${WHOLE.length} is missing`,
    `ridealong: 2 raw files of 3 logs, to ${folder}`,
  ])
})

t.test('if a log is cut, it may lack raw files, and the exit code is 1', async (t) => {
  const world = profiled([WHOLE, WHOLE])
  const name = 'lammps-1-abcde/cpu-profile'
  const cut = (world.logs[name] ?? '').split(WHOLE[0] ?? '')[0] ?? ''
  const { kubeconfig } = await standIn(t, { ...world, logs: { ...world.logs, [name]: cut } })
  const { code, err } = await run([...artifactsTo(t.testdir({})), '--kubeconfig', kubeconfig])
  t.equal(code, 1)
  t.match(err, `the log of hpc/${name} is cut: its end is missing`)
  t.match(err, 'ridealong: 1 raw files of 2 logs')
})

t.test('without raw files, the message names the option, and the exit code is 2', async (t) => {
  const { kubeconfig } = await standIn(t, profiled([[], []]))
  const { code, err } = await run([...artifactsTo(t.testdir({})), '--kubeconfig', kubeconfig])
  t.equal(code, 2)
  t.match(err, 'no log contains raw files; a metric with a tool writes them with its option artifa')
})

t.test('the other formats have no data of raw files', async (t) => {
  const { kubeconfig } = await standIn(t, profiled([WHOLE]))
  for (const format of ['jsonl', 'csv']) {
    const args = ['collect', 'job/lammps', '-o', format, '--kubeconfig', kubeconfig]
    const { code, out, err } = await run(args)
    t.equal(code, 0)
    t.equal(err, `ridealong: 1 of 1 logs, 1 samples, as ${format} to standard output\n`)
    t.notMatch(out, /artifact"|"unmatched"|,data,|"data"/)
  }
})

t.test('collect reads all pages of the list of pods', async (t) => {
  const many = Array.from({ length: 501 }, (_, index) => index)
  const world = { pods: () => many.map((index) => pod({ index })), logs: logsOf(many) }
  const { kubeconfig } = await standIn(t, world)
  const { code, out } = await run([
    'collect',
    'job/lammps',
    '-o',
    'csv',
    '--kubeconfig',
    kubeconfig,
  ])
  t.equal(code, 0)
  t.equal(out.split('\n').length, 1 + 501 * 3 + 1)
})

t.test(
  'a missing log is reported, all other logs are written, and the exit code is 1',
  async (t) => {
    const message = 'container "perf-sysstat" in pod "lammps-1-abcde" is waiting to start'
    const logs = { ...logsOf(PODS), 'lammps-1-abcde/perf-sysstat': { code: 400, message } }
    const { kubeconfig } = await standIn(t, { pods, logs })
    const { code, out, err } = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
    t.equal(code, 1)
    t.equal(parsed(out).filter(({ kind }) => kind === 'process').length, 9)
    t.match(
      err,
      `the log of hpc/lammps-1-abcde/perf-sysstat is missing or incomplete: ${message}\n`,
    )
    t.match(err, 'ridealong: 3 of 4 logs, 9 samples')
  },
)

t.test(
  'the summary of a deleted log is read from the termination message of the container',
  async (t) => {
    const state = { terminated: { exitCode: 0, message: SUMMARY } }
    const gone = 'unable to retrieve container logs for containerd://abc'
    const world = {
      pods: () => [pod({ index: 0, state }), pod({ index: 1 })],
      logs: { ...logsOf([1]), 'lammps-0-abcde/perf-sysstat': gone },
    }
    const { kubeconfig } = await standIn(t, world)
    const { code, out, err } = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
    t.equal(code, 1)
    const [log] = parsed(out)
    t.match(log, {
      kind: 'log',
      pod_index: '0',
      summary: [{}, { program: 'lmp', cpu_seconds: 9.5 }],
    })
    t.match(
      err,
      `its log does not come from an observer: ${gone}; its summary was read from the termi`,
    )
  },
)

t.test(
  'the samples that arrived before a lost connection are written, and the log is reported',
  async (t) => {
    const half = LOG.slice(0, LOG.length / 2)
    const logs = {
      'lammps-0-abcde/perf-sysstat': (response: {
        write: (text: string) => void
        destroy: () => void
      }) => {
        response.write(half)
        setTimeout(() => response.destroy(), 50)
      },
    }
    const { kubeconfig } = await standIn(t, { pods: () => [pod({ index: 0 })], logs })
    const { code, out, err } = await run([
      'collect',
      'pod/lammps-0-abcde',
      '--kubeconfig',
      kubeconfig,
    ])
    t.equal(code, 1)
    t.ok(parsed(out).filter(({ kind }) => kind === 'process').length > 0)
    t.match(err, /is missing or incomplete: the connection broke while the log was read: /)
    t.notMatch(err, /\n\s+at /)
  },
)

t.test(
  'with --follow, a log is requested again after a lost connection, without repeated samples',
  async (t) => {
    const lines = LOG.trimEnd().split('\n')
    let calls = 0
    let isOver = false
    const log = async (response: import('node:http').ServerResponse, query: URLSearchParams) => {
      t.equal(query.get('follow'), 'true')
      calls += 1
      if (calls === 1) {
        response.write(`${lines.slice(0, 40).join('\n')}\n`)
        await sleep(100)
        response.destroy()
        return
      }
      response.write(`${lines.slice(0, 60).join('\n')}\n`)
      await sleep(100)
      isOver = true
      response.end(`${lines.slice(60).join('\n')}\n`)
    }
    const now = () => [
      isOver ? pod({ index: 0 }) : pod({ index: 0, phase: 'Running', state: { running: {} } }),
    ]
    const { kubeconfig } = await standIn(t, {
      pods: now,
      logs: { 'lammps-0-abcde/perf-sysstat': log },
    })
    const args = ['collect', 'job/lammps', '--follow', '--kubeconfig', kubeconfig]
    const { code, out, err } = await run(args)
    t.equal(code, 0, err)
    t.ok(calls >= 2, 'the log was requested again')
    const rows = parsed(out)
    t.strictSame(
      rows.map(({ kind, timepoint }) => [kind, timepoint]),
      [
        ['process', 0],
        ['process', 1],
        ['process', 2],
        ['log', rows.at(-1).timepoint],
      ],
      'no sample is repeated or missing',
    )
    t.strictSame(rows.at(-1).cuts, [])
  },
)

const WRONG: readonly (readonly [string, string | undefined, object, RegExp])[] = [
  ['neither a workload nor a selector', undefined, {}, /^name either KIND\/NAME/],
  ['both a workload and a selector', 'job/a', { selector: 'a=b' }, /^name either KIND\/NAME/],
  ['a name without a kind', 'lammps', {}, /^"lammps" is not KIND\/NAME/],
  ['an unknown kind', 'workflow/a', {}, /kind "workflow" needs its API group.* are pod, job, /],
  ['an invalid name', 'job/../x', {}, /is not KIND\/NAME/],
  ['a missing pod', 'pod/nope', {}, /^the apiserver says 404: pods "nope" not found$/],
  [
    'a Job without pods',
    'job/none',
    { namespace: 'empty' },
    /^there are no pods of job\/none in namespace empty$/,
  ],
  [
    '--follow and --output logs but no --to',
    'job/lammps',
    { follow: true, output: 'logs' },
    /needs a folder.*--to/,
  ],
  [
    'artifacts but no --to',
    'job/lammps',
    { output: 'artifacts' },
    /needs a folder: use --to DIR\/$/,
  ],
  [
    'artifacts and a file as --to',
    'job/lammps',
    { output: 'artifacts', to: '/dev/null' },
    /^cannot write \/dev\/null: /,
  ],
  ['an unknown context', 'job/a', { context: 'y' }, /has no context y; its contexts are x$/],
  [
    'a destination in a missing folder',
    'job/lammps',
    { to: '/nowhere/at/all' },
    /^cannot write \/nowhere/,
  ],
  ['a missing catalog', 'job/lammps', { catalog: '/nowhere' }, /nowhere/],
]

t.test('collect rejects a wrong command line and a failed request with a UsageError', async (t) => {
  const { kubeconfig } = await standIn(t, { pods, logs: logsOf(PODS) })
  for (const [what, workload, options, message] of WRONG) {
    const all = { output: 'jsonl', parallel: 4, kubeconfig, ...options } as const
    const outcome = collect(workload === undefined ? [] : [workload], all, createSession())
    await t.rejects(outcome, { name: 'UsageError', message }, `collect with ${what} is rejected`)
  }
})

t.test(
  'if pods have no observers, the message gives the reason from the status annotation of a pod',
  async (t) => {
    const status = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: 'no room' })
    const left = () => [pod({ index: 0, metrics: [], status })]
    const { kubeconfig } = await standIn(t, { pods: left, logs: {} })
    const { code, err } = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
    t.equal(code, 2)
    t.match(
      err,
      /there are no observers in the 1 pod of job\/lammps; pod lammps-0-abcde was left without observers: host-pid: no room/,
    )
  },
)

t.test(
  'the message contains the refusal of the apiserver, or the address if it is unreachable',
  async (t) => {
    const message = 'pods is forbidden: User "u" cannot list resource "pods" in the namespace "hpc"'
    const { kubeconfig } = await standIn(t, { pods: () => ({ code: 403, message }), logs: {} })
    const forbidden = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
    t.equal(forbidden.code, 2)
    t.equal(forbidden.err, `ridealong: the apiserver says 403: ${message}\n`)
    const gone = await run(['collect', 'job/lammps', '--kubeconfig', nobody(t)])
    t.equal(gone.code, 2)
    t.match(
      gone.err,
      /^ridealong: the cluster does not answer: .*ECONNREFUSED.*127\.0\.0\.1:\d+\n$/,
    )
  },
)

t.test(
  'collect ends with exit code 0 and without a message if the reader closes the output pipe',
  async (t) => {
    const many = Array.from({ length: 40 }, (_, index) => index)
    const world = {
      pods: () => many.map((index) => pod({ index })),
      logs: logsOf(many, LOG.repeat(20)),
    }
    const { kubeconfig } = await standIn(t, world)
    const child = start(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
    const { stdout, stderr } = child
    if (!stdout || !stderr) throw new Error('the output streams are not pipes')
    stdout.once('data', () => stdout.destroy())
    const [err, [code]] = await Promise.all([text(stderr), once(child, 'exit')])
    t.equal(code, 0)
    t.equal(err, '')
  },
)

t.test('the message names a kubeconfig that is missing or invalid', async (t) => {
  const folder = t.testdir({ empty: '', broken: 'a: [' })
  for (const [name, sentence] of [
    ['none', /none: cannot be read as a kubeconfig: no such file or directory \(ENOENT\)/],
    ['empty', /empty: cannot be read as a kubeconfig: /],
    ['broken', /broken: cannot be read as a kubeconfig: /],
  ] as const) {
    const { code, err } = await run(['collect', 'job/a', '--kubeconfig', join(folder, name)])
    t.equal(code, 2)
    t.match(err, sentence)
    t.equal(err.split('\n').length, 2, err)
    t.notMatch(err, 'defect')
  }
})

/** Returns a pod with a valid status annotation. The catalog has another image for its observer. */
function forged(pod_index: number): object {
  const made = pod({ index: pod_index }) as {
    spec: { initContainers: readonly { name: string }[] }
  }
  const initContainers = made.spec.initContainers.map((one) => ({ ...one, image: 'evil:1' }))
  return { ...made, spec: { ...made.spec, initContainers } }
}

t.test(
  'the log of a container that differs from the catalog gets a notice, also in the report',
  async (t) => {
    const world = { pods: () => [pod({ index: 0 }), forged(1)], logs: logsOf([0, 1]) }
    const { kubeconfig } = await standIn(t, world)
    const file = join(t.testdir({}), 'run.jsonl')
    const { code, err } = await run([
      ...['collect', 'job/lammps', '--kubeconfig', kubeconfig, '--to', file],
    ])
    t.equal(code, 0, 'a log with a notice is not an error')
    const sentence =
      'container perf-sysstat has image "evil:1" instead of the catalog\'s ' +
      '"ghcr.io/ridealong/observer:0.1.0": its log may not come from an observer'
    t.match(err, `ridealong: hpc/lammps-1-abcde/perf-sysstat: ${sentence}\n`)
    const logs = parsed(readFileSync(file, 'utf8')).filter(({ kind }) => kind === 'log')
    t.strictSame(
      logs.map(({ notices }) => notices),
      [[], [sentence]],
    )
    const { out } = await run(['report', file, '-o', 'json'])
    t.match(out.replaceAll('\\"', '"'), `hpc/lammps-1-abcde/perf-sysstat: ${sentence}.`)
  },
)

t.test(
  'if the catalog cannot be read, a notice says that containers were not compared with it',
  async (t) => {
    const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat'], catalog: 'x' })
    const world = {
      pods: () => [0, 1].map((index) => pod({ index, status })),
      logs: logsOf([0, 1]),
    }
    const { kubeconfig } = await standIn(t, world)
    const args = ['collect', 'job/lammps', '--kubeconfig', kubeconfig]
    const { err } = await run(args)
    t.match(
      err,
      /perf-sysstat and 1 others: its container was not compared with a catalog, because the cluster's catalog could not be read \(.*\): no MutatingWebhookConfiguration names a Service of Ridealong\n/,
    )
    const named = await run([...args, '--observer-image', 'ghcr.io/ridealong/observer:0.1.0'])
    t.notMatch(named.err, 'not compared')
  },
)

t.test('collect and report say how many pods are observed', async (t) => {
  const message = 'annotation ridealong.dev/pods: every:4 does not select pod 1'
  const status = JSON.stringify({ outcome: 'left', reason: 'pod-not-selected', message })
  const all = () =>
    [...Array(20).keys()].map((index) =>
      index % 4 === 0 ? pod({ index }) : pod({ index, metrics: [], status }),
    )
  const { kubeconfig } = await standIn(t, { pods: all, logs: logsOf([0, 4, 8, 12, 16]) })
  const file = join(t.testdir({}), 'run.jsonl')
  for (const more of [[], ['--follow']]) {
    const args = ['collect', 'job/lammps', '--to', file, '--kubeconfig', kubeconfig, ...more]
    const { code, err } = await run(args)
    t.equal(code, 0)
    t.match(err, 'ridealong: 5 of 20 pods observed\nridealong: 5 of 5 logs, ')
    const logs = parsed(readFileSync(file, 'utf8')).filter(({ kind }) => kind === 'log')
    t.equal(logs.length, 5)
    const metrics = { 'perf-sysstat': 5 }
    for (const { observedPods } of logs)
      t.strictSame(observedPods, { workload: 'job/lammps', total: 20, observed: 5, metrics })
  }
  const { out } = await run(['report', file, '--output', 'json'])
  const { observedPods, notices } = JSON.parse(out)
  t.match(observedPods, [{ workload: 'job/lammps', total: 20, observed: 5 }])
  t.equal(
    notices[0],
    'job/lammps: 5 of 20 pods observed (ridealong.dev/pods). This report is only about the ' +
      'observed pods.',
  )
})

t.test('if no pod is selected, collect says why there are no observers', async (t) => {
  const status = JSON.stringify({ outcome: 'left', reason: 'pod-not-selected', message: 'm' })
  const { kubeconfig } = await standIn(t, {
    pods: () => [pod({ index: 1, metrics: [], status })],
    logs: {},
  })
  const { code, err } = await run(['collect', 'job/lammps', '--kubeconfig', kubeconfig])
  t.equal(code, 2)
  t.match(err, 'no observers in the 1 pod of job/lammps; pod lammps-1-abcde was left without')
})
