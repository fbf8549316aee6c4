import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { collect } from '../../../../cli/collect/collect.ts'
import { withAttemptBefore } from '../../../../src/runs/collect/attempts.ts'
import { JOURNAL } from '../../../../src/runs/collect/journal.ts'
import { findObservers } from '../../../../src/runs/collect/observers.ts'
import { run } from '../../../cli/command.ts'
import { createSession } from '../../../cli/host.ts'
import { growingLog } from '../../../stand-ins/growing-log.ts'
import { standIn, type World } from '../../../stand-ins/pod-logs.ts'
import { until } from '../../../until.ts'
import { CATALOG, pod } from './pod.ts'

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const KILLED = { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T12:00:00Z' }
const RUNNING = { state: { running: {} }, lastState: { terminated: KILLED } }
const ENDED = { ...RUNNING, state: { terminated: { exitCode: 0, reason: 'Completed' } } }

/** Returns a pod whose observer was started again. */
function restarted(restartCount: number, states: object, phase = 'Running'): object {
  const one = pod({ index: 0, phase }) as { status: object }
  const observer = { name: 'perf-sysstat', restartCount, ...states }
  return { ...one, status: { ...one.status, initContainerStatuses: [observer] } }
}

/** Returns the only observer of a pod, and its attempt before. */
function attemptsOf(one: object) {
  const metrics = new Set(CATALOG.metrics.keys())
  const { observers } = findObservers(one as Parameters<typeof findObservers>[0], metrics, CATALOG)
  return observers.flatMap(withAttemptBefore)
}

t.test('a message of the attempt before is not one of the last attempt', async (t) => {
  const message = '{"metric":"perf-sysstat","timepoints":3}'
  const before = { terminated: { ...KILLED, message } }
  t.match(attemptsOf(restarted(2, { state: { running: {} }, lastState: before })), [
    { attempt: null, restarts: 2, message: null, state: 'running' },
    { attempt: 2, restarts: 1, message, state: 'ended', notices: [] },
  ])
  const waiting = restarted(2, { state: { waiting: {} }, lastState: before })
  t.match(attemptsOf(waiting), [{ attempt: null, restarts: 2, message, state: 'waiting' }])
  t.equal(attemptsOf(waiting).length, 1, 'its log is that of the container that has ended')
  t.equal(attemptsOf(restarted(0, RUNNING)).length, 1)
})

t.test('the attempts before are named, and those without a log', async (t) => {
  const noticesOf = (restartCount: number, states: object = RUNNING) =>
    attemptsOf(restarted(restartCount, states))[0]?.notices
  const before = (attempt: number) =>
    `attempt ${attempt} ended with exit code 137 (SIGKILL, OOMKilled) at 2026-01-01T12:00:00Z`
  const isOf = (attempt: number) =>
    `this is the log of attempt ${attempt} of the container, and of no other`
  t.strictSame(noticesOf(0), [])
  t.strictSame(noticesOf(1), [`${isOf(2)}; ${before(1)}`])
  const lost = 'the kubelet has no log of attempt'
  t.strictSame(noticesOf(3), [`${isOf(4)}; ${before(3)}; ${lost}s 1 and 2 any more`])
  t.strictSame(noticesOf(1, { state: { running: {} } }), [`${isOf(2)}; ${lost} 1 any more`])
})

/** Collects the logs of such a pod, whose attempt before has this log. */
async function collected(
  t: Test,
  previous: World['logs'][string],
  to: string,
  states: object = RUNNING,
) {
  const answers = { last: LOG, previous }
  const { kubeconfig, asked } = await standIn(t, {
    pods: () => [restarted(1, states, states === RUNNING ? 'Running' : 'Succeeded')],
    logs: {
      get 'lammps-0-abcde/perf-sysstat'() {
        return answers[asked.at(-1)?.includes('previous=true') ? 'previous' : 'last']
      },
    },
  })
  const said: string[] = []
  const collecting = (output: 'jsonl' | 'logs', follow = false) =>
    collect(['job/lammps'], { output, follow, parallel: 1, kubeconfig, to }, createSession(said))
  return { said, collecting, asked }
}

/** The log of an attempt that was killed: its samples are of another time. */
const BEFORE = LOG.slice(0, LOG.indexOf('METRICS OPERATOR COLLECTION END')).replaceAll(
  '2026-',
  '2025-',
)

t.test('the log of the attempt before has a file of its own', async (t) => {
  const folder = join(t.testdir({}), 'logs/')
  const { said, collecting } = await collected(t, BEFORE, folder)
  t.equal(await collecting('logs'), 0)
  const names = ['lammps-0-abcde.perf-sysstat.attempt-1.log', 'lammps-0-abcde.perf-sysstat.log']
  t.strictSame(readdirSync(folder).sort(), [JOURNAL, ...names])
  t.equal(readFileSync(join(folder, names[0] ?? ''), 'utf8'), BEFORE)
  t.equal(readFileSync(join(folder, names[1] ?? ''), 'utf8'), LOG)
  t.match(said.join('\n'), /this is the log of attempt 2 of the container, and of no other/)

  const report = await run(['report', '-o', 'json', ...names.map((name) => join(folder, name))])
  const alone = await run(['report', '-o', 'json', join(folder, names[1] ?? '')])
  t.match(report.err, /attempt-1\.log is the log of another attempt of a container, left out/)
  t.equal(JSON.parse(report.out).logs, 1)
  const { attempts, ...others } = JSON.parse(report.out)
  t.strictSame(others, JSON.parse(alone.out), 'the attempt before changes no other number')
  t.match(attempts, { known: [{ attempt: 1 }, { attempt: 2, isCounted: true }], lost: [] })
  const first = await run(['report', '-o', 'json', join(folder, names[0] ?? '')])
  t.equal(first.code, 0, 'a report of its file alone shows it')
  t.equal(JSON.parse(first.out).logs, 1)
})

t.test('a report shows the last attempt of collected rows, and names the one before', async (t) => {
  const file = join(t.testdir({}), 'run.jsonl')
  const { said, collecting } = await collected(t, BEFORE, file)
  await collecting('jsonl')
  const rows = readFileSync(file, 'utf8').trimEnd().split('\n')
  const sources = new Set(rows.map((row) => JSON.parse(row).source))
  const source = 'hpc/lammps-0-abcde/perf-sysstat'
  t.strictSame([...sources], [source, `${source}/attempt-1`])
  t.match(said.join('\n'), `2 of 2 logs, 6 samples, as jsonl to ${file}`)
  const { out, err } = await run(['report', '-o', 'json', file])
  t.match(err, `${source}/attempt-1 is the log of another attempt`)
  const report = JSON.parse(out)
  t.equal(report.logs, 1)
  t.match(report.notices.join('\n'), `${source}: this is the log of attempt 2 of the container`)
  t.match(report.notices.join('\n'), /attempt 1 ended with exit code 137 \(SIGKILL, OOMKilled\)/)
  t.match(report.attempts.known, [
    { attempt: 1, isCounted: false, podIndexes: ['0'] },
    { attempt: 2, isCounted: true, podIndexes: ['0'] },
  ])
  const page = await run(['report', '-o', 'html', file])
  t.match(page.out, 'the report is about attempt 2')

  const isBefore = (row: string) => JSON.parse(row).source.endsWith('/attempt-1')
  const turned = [...rows.filter(isBefore), ...rows.filter((row) => !isBefore(row))]
  const other = await run(['report', '-o', 'json', '-'], `${turned.join('\n')}\n`)
  t.equal(JSON.parse(other.out).logs, 1, 'two attempts are never added up')
  t.match(other.err, `${source} is the log of another attempt of a container, left out`)
})

t.test('with --follow, the log of the attempt before comes last, and once', async (t) => {
  const file = join(t.testdir({}), 'run.jsonl')
  const { collecting, asked } = await collected(t, BEFORE, file, ENDED)
  t.equal(await collecting('jsonl', true), 0)
  const rows = readFileSync(file, 'utf8').trimEnd().split('\n')
  const source = 'hpc/lammps-0-abcde/perf-sysstat'
  t.strictSame(
    [...new Set(rows.map((row) => JSON.parse(row).source))],
    [source, `${source}/attempt-1`],
  )
  t.equal(asked.filter((path) => path.includes('previous=true')).length, 1)
})

/**
 * Follows a log whose container is started again. The pod says so only when the log of the second
 * start was requested.
 *
 * @param broken whether the connection to the first log breaks
 */
async function followed(t: Test, broken: boolean) {
  const file = join(t.testdir({}), 'run.jsonl')
  const first = growingLog(broken ? BEFORE.slice(0, BEFORE.lastIndexOf('\n', 4000)) : BEFORE)
  let [isAgain, isKnown] = [false, false]
  const { kubeconfig } = await standIn(t, {
    pods: () => [isKnown ? restarted(1, ENDED, 'Succeeded') : restarted(0, RUNNING)],
    logs: {
      'lammps-0-abcde/perf-sysstat': (response, query) => {
        if (query.get('previous') === 'true') return response.end(BEFORE)
        if (!isAgain) return first.answer(response, query)
        isKnown = true
        response.end(LOG.replaceAll('25919', '26000'))
      },
    },
  })
  const options = { output: 'jsonl', parallel: 1, follow: true, kubeconfig, to: file } as const
  const said: string[] = []
  const collecting = collect(['job/lammps'], options, createSession(said))
  await until('the log is followed', () => first.followers() === 1)
  isAgain = true
  if (broken) first.breakConnections()
  else first.end()
  t.equal(await collecting, 0, said.join('\n'))
  const rows = readFileSync(file, 'utf8').trimEnd().split('\n')
  return rows.map((row) => JSON.parse(row)).filter(({ kind }) => kind === 'process')
}

for (const broken of [false, true]) {
  const when = broken ? 'the connection breaks' : 'the log ends'
  t.test(`with --follow, each start of a container has its log, when ${when}`, async (t) => {
    const rows = await followed(t, broken)
    const source = 'hpc/lammps-0-abcde/perf-sysstat'
    const pidsOf = (log: string) => rows.filter((row) => row.source === log).map(({ pid }) => pid)
    t.strictSame(pidsOf(source), [25919, 25919, 25919])
    t.strictSame(pidsOf(`${source}/attempt-2`), [26000, 26000, 26000])
    t.equal(rows.length, 6)
  })
}

t.test('the ends of the attempt before are those of containers that were started again', (t) => {
  const end = { container: 'app', reason: 'Error', exitCode: 137, signal: null, finishedAt: null }
  const again = { ...end, restarted: true, deleted: false }
  const last = { ...end, exitCode: 0, restarted: false, deleted: false }
  const before = { message: null, ended: again }
  const state = {
    attempt: null,
    isPrevious: false,
    state: 'running',
    restarts: 1,
    message: null,
    notices: [],
  } as const
  const [now, earlier] = withAttemptBefore({ ...state, before, ended: [again, last] })
  t.strictSame(now?.ended, [again, last])
  t.strictSame(earlier?.ended, [{ ...again, restarted: false }])
  t.end()
})

t.test('a log of the attempt before that the kubelet has removed is named', async (t) => {
  const file = join(t.testdir({}), 'run.jsonl')
  const gone = { code: 400, message: 'previous terminated container "perf-sysstat" not found' }
  const { said, collecting } = await collected(t, gone, file)
  t.equal(await collecting('jsonl'), 0, 'it cannot be collected later, either')
  t.match(said.join('\n'), /perf-sysstat\/attempt-1, an earlier .* cannot be read: .*not found/)
  t.match(said.at(-1), '1 of 1 logs, 3 samples')
})

t.test('the summary of such an attempt stays, if its container has left one', async (t) => {
  const file = join(t.testdir({}), 'run.jsonl')
  const message = '{"metric":"perf-sysstat","timepoints":3}'
  const gone = { code: 400, message: 'previous terminated container "perf-sysstat" not found' }
  const states = { ...RUNNING, lastState: { terminated: { ...KILLED, message } } }
  const { said, collecting } = await collected(t, gone, file, states)
  t.equal(await collecting('jsonl'), 0, 'it cannot be collected later, either')
  t.match(said.join('\n'), /perf-sysstat\/attempt-1, an earlier .* cannot be read: .*not found/)
  t.match(readFileSync(file, 'utf8'), /perf-sysstat\/attempt-1"/)
})
