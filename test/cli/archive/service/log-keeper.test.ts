import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLogKeeper, type LogKeeper } from '../../../../cli/archive/service/log-keeper.ts'
import { createKeptLogs, type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { findCluster } from '../../../../src/cluster/access.ts'
import { type Apiserver, connectApiserver } from '../../../../src/cluster/apiserver.ts'
import { withAttemptBefore } from '../../../../src/runs/collect/attempts.ts'
import type { RunningObserver } from '../../../../src/runs/collect/observers.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'
import { growingLog } from '../../../stand-ins/growing-log.ts'
import { type ErrorAnswer, standIn, type World } from '../../../stand-ins/pod-logs.ts'
import { until } from '../../../until.ts'
import { endedObserver } from '../observers.ts'

const RUN: KeptRun = { key: '["hpc","1",null]', namespace: 'hpc', name: 'lammps-1', title: 'x' }
const POD = readPodFacts({ metadata: { namespace: 'hpc', name: 'lammps-0' } }, new Set())
const ENDED = endedObserver('lammps-0', 'vitals')
const RUNNING: RunningObserver = { ...ENDED, state: 'running' }

/**
 * Makes a folder that is removed after the keeper of the test has stopped. The folder of tap would
 * be removed before, while the keeper may still write.
 */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-logs-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

async function connect(t: Test, logs: World['logs']) {
  const { kubeconfig, asked } = await standIn(t, { pods: () => [], logs })
  const access = await findCluster({ kubeconfig, environment: {} })
  if (access === undefined) throw new Error('there is no cluster')
  return { api: connectApiserver(access), asked }
}

async function start(t: Test, folder: string, logs: World['logs']) {
  const { api, asked } = await connect(t, logs)
  return { asked, ...startKeeper(t, folder, api) }
}

/** Starts a keeper that reads a log as often as it can. */
function startKeeper(t: Test, folder: string, api: Apiserver) {
  const kept = createKeptLogs(folder, VOLUME_FILES)
  const failures: string[] = []
  const keeper = createLogKeeper({
    ...{ api, kept, readMs: 1, readingMs: 60_000, giveUpMs: 60_000 },
    failing: { pauseMs: 1, longestPauseMs: 10 },
    onFailure: (_, message) => failures.push(message),
  })
  t.teardown(() => keeper.stop())
  const text = (observer = ENDED) => readFileSync(kept.pathOf(RUN, logId(observer)), 'utf8')
  return { keeper, kept, failures, text }
}

/** Reads what is due until no log of the run is left. */
function readAll(keeper: LogKeeper): Promise<void> {
  return until('all logs are read', async () => {
    keeper.begin()
    return keeper.isRead(RUN.key)
  })
}

/** How the container ended before it was started again. */
const BEFORE: RunningObserver['before'] = {
  message: null,
  ended: {
    ...{ container: 'vitals', reason: 'OOMKilled', exitCode: 137, signal: null },
    ...{ finishedAt: null, restarted: true, deleted: false },
  },
}

/** Returns an observer that was started again, after its attempt before. */
const startsOf = (observer: RunningObserver) => withAttemptBefore(observer).toReversed()

const isPrevious = (query: URLSearchParams) => query.get('previous') === 'true'

const REMOVED: ErrorAnswer = {
  code: 400,
  message: 'previous terminated container "vitals" in pod "lammps-0" not found',
}
const GONE: ErrorAnswer = { code: 404, message: 'the pod was not found' }

function sendError(response: ServerResponse, error: ErrorAnswer): void {
  response.writeHead(error.code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'Status', status: 'Failure', ...error }))
}

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}\n`).join('')

t.test('a log that grows is read from where the last reading stopped', async (t) => {
  const log = growingLog(linesOf(0, 5))
  const folder = folderOf(t)
  const { answer } = log
  const first = await start(t, folder, { 'lammps-0/vitals': answer })
  first.keeper.note(RUN, POD, [RUNNING])
  await until('the first lines are kept', async () => {
    first.keeper.begin()
    return readIf(first.text) === linesOf(0, 5)
  })
  log.append(linesOf(5, 8))
  await until('the next lines are kept', async () => {
    first.keeper.begin()
    return first.text() === linesOf(0, 8)
  })
  t.match(first.asked.at(-1), /sinceTime=/)
  await first.keeper.stop()
  appendFileSync(first.kept.pathOf(RUN, logId(ENDED)), 'a line without its e')
  log.append(linesOf(8, 10))
  log.end()
  const second = await start(t, folder, { 'lammps-0/vitals': answer })
  second.keeper.note(RUN, POD, [ENDED])
  await readAll(second.keeper)
  t.equal(second.text(), linesOf(0, 10), 'an archive that restarts goes on after the last line')
  t.match([...second.keeper.logsOf(RUN.key).values()], [{ isDone: true, problem: null }])
})

function readIf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

t.test('what could not be read has a reason', async (t) => {
  const log = growingLog(linesOf(0, 3))
  let state: 'there' | 'gone' = 'there'
  const answer = (response: ServerResponse, query: URLSearchParams) => {
    if (state === 'gone') return sendError(response, GONE)
    return isPrevious(query) ? sendError(response, REMOVED) : log.answer(response, query)
  }
  const { keeper, text } = await start(t, folderOf(t), { 'lammps-0/vitals': answer })
  const later: RunningObserver = { ...RUNNING, restarts: 1, before: BEFORE }
  keeper.note(RUN, POD, [RUNNING])
  await until('the first lines are kept', async () => {
    keeper.begin()
    return readIf(text) === linesOf(0, 3)
  })
  keeper.note(RUN, POD, startsOf(later))
  await until('the log after the restart is kept', async () => {
    keeper.begin()
    const [before] = keeper.logsOf(RUN.key).values()
    return before?.isDone === true && readIf(() => text(later)) === linesOf(0, 3)
  })
  state = 'gone'
  keeper.note(RUN, { ...POD, isGone: true }, startsOf(later))
  await readAll(keeper)
  t.strictSame(
    [...keeper.logsOf(RUN.key).values()].map(({ problem }) => problem),
    [
      'its container was restarted before its log was read to the end',
      'its pod was deleted before its log was read to the end',
    ],
  )
})

t.test('the log before a restart is read from the kubelet, to its end', async (t) => {
  const [first, second] = [growingLog(linesOf(0, 3)), growingLog()]
  let hasRestarted = false
  const answer = (response: ServerResponse, query: URLSearchParams) =>
    (hasRestarted && !isPrevious(query) ? second : first).answer(response, query)
  const { keeper, text } = await start(t, folderOf(t), { 'lammps-0/vitals': answer })
  keeper.note(RUN, POD, [RUNNING])
  await until('the first lines are kept', async () => {
    keeper.begin()
    return readIf(text) === linesOf(0, 3)
  })
  first.append(linesOf(3, 5))
  second.append(linesOf(100, 103))
  hasRestarted = true
  await until('lines after the restart, of which nothing is known yet, are kept', async () => {
    keeper.begin()
    return readIf(text).endsWith(linesOf(100, 103))
  })
  const later: RunningObserver = { ...RUNNING, restarts: 1, before: BEFORE }
  keeper.note(RUN, POD, startsOf(later))
  await until('both logs are kept', async () => {
    keeper.begin()
    return readIf(text) === linesOf(0, 5) && readIf(() => text(later)) === linesOf(100, 103)
  })
  keeper.note(RUN, POD, startsOf({ ...later, state: 'ended' }))
  await readAll(keeper)
  t.match(
    [...keeper.logsOf(RUN.key).values()],
    [
      { problem: null, observer: { attempt: 1 } },
      { problem: null, observer: { attempt: null } },
    ],
  )
})

t.test('the logs of starts that the kubelet does not keep are not whole', async (t) => {
  const log = growingLog(linesOf(0, 3))
  const { keeper } = await start(t, folderOf(t), { 'lammps-0/vitals': log.answer })
  keeper.note(RUN, POD, [RUNNING])
  keeper.note(RUN, POD, startsOf({ ...RUNNING, restarts: 2, before: BEFORE }))
  log.end()
  keeper.note(RUN, POD, startsOf({ ...ENDED, restarts: 2, before: BEFORE }))
  await readAll(keeper)
  t.match(
    [...keeper.logsOf(RUN.key).values()],
    [
      {
        problem: 'its container was restarted before its log was read to the end',
        observer: { attempt: 1 },
      },
      { problem: null, observer: { attempt: 2 } },
      { problem: null, observer: { attempt: null } },
    ],
  )
})

t.test('a broken connection loses and repeats no line', async (t) => {
  const log = growingLog(linesOf(0, 2000))
  log.end()
  let attempts = 0
  const answer = (response: ServerResponse, query: URLSearchParams) => {
    attempts += 1
    if (attempts > 3) return log.answer(response, query)
    response.on('error', () => {})
    log.answer(cutAfter(response, attempts * 7000), query)
  }
  const { keeper, text, failures } = await start(t, folderOf(t), { 'lammps-0/vitals': answer })
  keeper.note(RUN, POD, [ENDED])
  await readAll(keeper)
  t.equal(text(), linesOf(0, 2000))
  t.match(failures[0], /^the log of pod lammps-0: /)
})

/** Destroys a response after some characters. */
function cutAfter(response: ServerResponse, characters: number): ServerResponse {
  let sent = 0
  const write = (text: string) => {
    sent += text.length
    if (sent > characters) response.destroy()
    else response.write(text)
  }
  return new Proxy(response, {
    get: (target, name) => {
      if (name === 'write') return write
      if (name === 'end') return () => target.destroy()
      return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
    },
  })
}

t.test('of a namespace, 16 logs are read at once, and 48 of containers that ended', async (t) => {
  const observers = Array.from({ length: 100 }, (_, index) => {
    return endedObserver(`lammps-${index}`, 'vitals')
  })
  const log = growingLog('one line\n')
  log.end()
  const logs = Object.fromEntries(observers.map(({ pod }) => [`${pod}/vitals`, log.answer]))
  const { api } = await connect(t, logs)
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  let requests = 0
  const open: Apiserver['open'] = async (call) => {
    requests += 1
    await answered
    return api.open(call)
  }
  const { keeper, text } = startKeeper(t, folderOf(t), { ...api, open })
  const running = observers.map((one): RunningObserver => ({ ...one, state: 'running' }))
  keeper.note(RUN, POD, running)
  keeper.begin()
  t.equal(requests, 16)
  keeper.note(RUN, POD, observers)
  t.equal(requests, 64, 'pods can vanish at any time, so no request waits for the volume')
  answer()
  await readAll(keeper)
  for (const observer of observers) t.equal(text(observer), 'one line\n')
})

t.test('logs of one namespace do not keep those of another one from being read', async (t) => {
  const names = Array.from({ length: 200 }, (_, index) => `endless-${index}`)
  const log = growingLog('one line\n')
  log.end()
  let waiting = 0
  const neverAnswer = () => {
    waiting += 1
  }
  const endless = Object.fromEntries(names.map((name) => [`${name}/vitals`, neverAnswer]))
  const logs = { ...endless, 'lammps-0/vitals': log.answer }
  const { keeper, text } = await start(t, folderOf(t), logs)
  const other = { key: '["other","1",null]', namespace: 'other', name: 'x', title: 'x' }
  for (const [index, name] of names.entries()) {
    const observer = { ...endedObserver(name, 'vitals'), namespace: 'other' }
    keeper.note(other, POD, [index % 2 === 0 ? observer : { ...observer, state: 'running' }])
  }
  keeper.begin()
  await until('the other namespace has all that it gets', () => waiting === 16 + 48)
  keeper.note(RUN, POD, [RUNNING])
  await until('the log of a container that runs is read', () => {
    keeper.begin()
    return readIf(text) === 'one line\n'
  })
  keeper.note(RUN, POD, [ENDED])
  await readAll(keeper)
  t.equal(waiting, 16 + 48, 'no log of the other namespace was read meanwhile')
})

for (const count of [1, 2, 8, 64])
  t.test(`no log is lost of ${count} pods that end together and vanish at once`, async (t) => {
    const names = Array.from({ length: count }, (_, index) => `lammps-${index}`)
    const read = new Set<string>()
    const logs = names.map((name) => {
      const log = growingLog(linesOf(0, 3))
      log.end()
      const answer = (response: ServerResponse, query: URLSearchParams) => {
        if (read.has(name)) return sendError(response, GONE)
        read.add(name)
        log.answer(response, query)
      }
      return [`${name}/vitals`, answer] as const
    })
    const { keeper, text, failures } = await start(t, folderOf(t), Object.fromEntries(logs))
    const observers = names.map((name) => endedObserver(name, 'vitals'))
    keeper.note(RUN, POD, observers)
    const broken = () => failures.filter((message) => !message.endsWith(GONE.message))
    await until('each log was read', () => read.size === count || broken().length > 0)
    if (read.size < count) return t.fail(broken().join('\n'))
    keeper.note(RUN, { ...POD, isGone: true }, observers)
    await readAll(keeper)
    for (const observer of observers) t.equal(text(observer), linesOf(0, 3))
    const problems = [...keeper.logsOf(RUN.key).values()].map(({ problem }) => problem)
    t.strictSame(problems, Array(count).fill(null))
  })

t.test('a log whose container ends while it waits to be read is read once at a time', async (t) => {
  const names = Array.from({ length: 17 }, (_, index) => `lammps-${index}`)
  const last = 'lammps-16'
  const open = new Set<ServerResponse>()
  let [reading, most, isFull] = [0, 0, true]
  const log = growingLog('one line\n')
  log.end()
  const answerOf = (name: string) => (response: ServerResponse, query: URLSearchParams) => {
    if (name !== last) return isFull ? void open.add(response) : void response.end()
    reading += 1
    most = Math.max(most, reading)
    setImmediate(() => {
      reading -= 1
      log.answer(response, query)
    })
  }
  const logs = Object.fromEntries(names.map((name) => [`${name}/vitals`, answerOf(name)]))
  const { keeper, text, failures } = await start(t, folderOf(t), logs)
  const running = names.map((name) => ({ ...endedObserver(name, 'vitals'), state: 'running' }))
  keeper.note(RUN, POD, running as RunningObserver[])
  keeper.begin()
  await until('the other logs use all connections', () => open.size === 16)
  const ended = endedObserver(last, 'vitals')
  keeper.note(RUN, POD, [ended])
  isFull = false
  for (const response of open) response.end()
  await until('the log was read', () => {
    keeper.begin()
    return readIf(() => text(ended)) === 'one line\n'
  })
  await keeper.stop()
  t.equal(most, 1)
  t.notMatch(failures.join(), /EEXIST|ENOENT/)
})
