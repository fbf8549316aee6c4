import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { runCommand } from '../../cli/run-command.ts'
import { BUILT_IN } from '../../src/catalog/built-in.ts'
import { CASE_NAMESPACES, reviewFile } from '../cases/read.ts'
import { pod } from '../src/runs/collect/pod.ts'
import { standIn } from '../stand-ins/pod-logs.ts'
import { until } from '../until.ts'
import { run, runInTerminal, runProcess, runProcessInTerminal } from './command.ts'
import { createHost } from './host.ts'

const LOGS = fileURLToPath(new URL('../logs/', import.meta.url))
const [VITALS, PROFILE] = ['lammps-0.vitals.log', 'lammps-0.cpu-profile.log'].map((name) =>
  join(LOGS, 'all-metrics', name),
) as [string, string]
const LOG = readFileSync(join(LOGS, 'perf-sysstat-head-format-generated.log'), 'utf8')
const REVIEW = reviewFile('job-indexed')
const JOB = `apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {containers: [{name: app, command: [run]}]}}}
`
const NOWHERE = ['--kubeconfig', '/nowhere']

/** A call of each verb, the text of its standard input, and its exit code. */
const CALLS: readonly (readonly [words: readonly string[], code: number, input?: string])[] = [
  [['serve'], 2],
  [['archive', ...NOWHERE], 2],
  [['review', '--namespaces', CASE_NAMESPACES, '-o', 'diff', REVIEW], 0],
  [['test', '/nowhere'], 2],
  [['record', '/nowhere', '--url', 'http://a'], 2],
  [['metrics', '--offline'], 0],
  [['inject', '--offline', '--metric', 'perf-sysstat', '-f', '-'], 0, JOB],
  [['annotate', '--offline', '-f', '-'], 0, JOB],
  [['explain', '--offline', '-f', '-'], 1, JOB],
  [['attach', 'a', '--metric', 'vitals', ...NOWHERE], 2],
  [['top', '--once', join(LOGS, 'perf-sysstat-head-format-generated.log')], 0],
  [['stacks', 'job/a', ...NOWHERE], 2],
  [['runs', ...NOWHERE], 2],
  [['collect', 'job/a', ...NOWHERE], 2],
  [['report', '-o', 'json', VITALS], 0],
  [['compare', VITALS, VITALS], 0],
  [['convert', '--format', 'collapsed', PROFILE], 0],
  [['doctor', ...NOWHERE], 2],
  [['disarm', ...NOWHERE], 2],
  [['completion', 'bash'], 0],
  [['--help'], 0],
]

for (const [words, code, input] of CALLS) {
  t.test(
    `${words[0]} prints the same in a process of its own as in that of the test`,
    async (t) => {
      const [own, shared] = await Promise.all([runProcess(words, input), run(words, input)])
      t.equal(own.code, code, own.err)
      t.strictSame(shared, own)
    },
  )
}

t.test('explain prints the same in a real terminal and in that of a test', async (t) => {
  const words = ['explain', '--offline', '-f', REVIEW]
  const [real, shown] = [await runProcessInTerminal(words, 70), await runInTerminal(words, 70)]
  t.strictSame(shown, real)
  t.match(real.out, '\u001b[32mok')
})

/** What calls of the command could leave behind in the process. */
function processState() {
  const events = ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit', 'uncaughtException', 'beforeExit']
  return {
    listeners: events.map((event) => process.listenerCount(event)),
    environment: { ...process.env },
    folder: process.cwd(),
    exitCode: process.exitCode,
  }
}

t.test('calls in one process do not affect each other, and leave nothing behind', async (t) => {
  const before = processState()
  const runAll = () => Promise.all(CALLS.map(([words, , input]) => run(words, input)))
  const [first, second] = await Promise.all([runAll(), runAll()])
  t.strictSame(second, first)
  t.strictSame(await runAll(), first)
  t.strictSame(processState(), before)
})

t.test('each call has the environment that it is given', async (t) => {
  const calls = ['one', 'two'].map((name) => {
    return run(['runs'], '', { environment: { KUBECONFIG: join('/nowhere', name) } })
  })
  const [one, two, none] = await Promise.all([...calls, run(['runs'], '', { environment: {} })])
  t.match(one?.err, /^ridealong: \/nowhere\/one: /)
  t.match(two?.err, /^ridealong: \/nowhere\/two: /)
  t.match(none?.err, /^ridealong: no cluster is configured: /)
})

t.test('the path of the program decides its name, and whether words are completed', async (t) => {
  const plugin = await run(['--help'], '', { programPath: '/usr/bin/kubectl-ridealong' })
  t.match(plugin.out, /^Usage: kubectl ridealong /)
  const completion = { programPath: '/usr/bin/kubectl_complete-ridealong' }
  t.match((await run(['metr'], '', completion)).out, /^metrics\t/)
})

t.test('a signal that interrupts collect --follow ends it with what was read', async (t) => {
  const running = pod({ index: 0, phase: 'Running', state: { running: {} } })
  const { kubeconfig } = await standIn(t, {
    pods: () => [running],
    logs: { 'lammps-0-abcde/perf-sysstat': (response) => response.write(LOG) },
  })
  const host = createHost()
  const words = ['collect', 'job/lammps', '--follow', '--kubeconfig', kubeconfig]
  const ending = runCommand(words, host)
  await until('the log is read', () => host.out().includes('"kind":"process"'))
  host.interrupt('SIGINT')
  t.equal(await ending, 0)
  t.match(host.err(), 'ridealong: 1 of 1 logs, ')
})

t.test('a signal stops serve, which prints its log to its standard output', async (t) => {
  const folder = t.testdir({})
  await writeKeyPair(folder, await makeAuthority(), { names: ['localhost'] })
  const files = ['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')]
  const ports = ['--host', '127.0.0.1', '--port', '0', '--status-port', '0', '--drain-quiet', '0']
  const host = createHost()
  const words = ['serve', ...files, ...ports, '--namespaces', CASE_NAMESPACES]
  const ending = runCommand([...words, '--catalog', BUILT_IN, '--no-built-in-metrics'], host)
  await until('the server listens', () => host.out().includes('"listening"'))
  host.interrupt('SIGTERM')
  t.equal(await ending, 0)
  t.match(host.out(), /"draining"[\s\S]*"closed"\}\n$/)
})
