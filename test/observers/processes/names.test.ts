import t from 'tap'
import { observer, podOf, until } from '../pod.ts'
import { observerTests, parse, type Row, timepointsIn } from '../prerequisites.ts'

// Tests with processes that set their own names.

const options = observerTests()
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }

t.test('a process of the target that is named like an observer has rows', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
  await run('app', ['bash', '-c', 'sleep 60 & exec -a perf-sysstat sleep 61'])
  await until(watching, /"program":"perf-sysstat"/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.policy
  t.strictSame(programs(rows), ['perf-sysstat', 'sleep'])
})

const TITLE = new URL('title.py', import.meta.url).pathname

// The title, and the name of its program.
const TITLES: readonly (readonly [string, string])[] = [
  ['sshd: /usr/sbin/sshd -De [listener] 0 of 10-100 startups', 'sshd'],
  ['sshd: user@pts/0', 'sshd'],
  ['nginx: master process /usr/sbin/nginx -g daemon off;', 'nginx'],
  ['ray::train_fold(lr=0.1/bs=32)', 'ray::train_fold'],
  ['postgres: app db 10.0.0.1(5432) idle', 'postgres'],
  ['gunicorn: master [app]', 'gunicorn'],
  ['[celeryd: celery@node:MainProcess] -active- (worker)', 'celeryd'],
]

for (const comm of [[], ['comm']]) {
  const more = comm.length === 0 ? '' : ', even if it changes its kernel name'
  t.test(`a process that sets a title has the name of its program${more}`, options, async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    const words = TITLES.map(([title]) => `python3 ${TITLE} '${title}' ${comm.join(' ')} &`)
    // This is no title, but the path of a program.
    const path = '/dev/shm/My Program/app'
    const other = `mkdir '/dev/shm/My Program'; cp /bin/sleep '${path}'; '${path}' 600 &`
    await run('app', ['sh', '-c', `${words.join(' ')} ${other} wait`])
    const expected = new Set(['app', ...TITLES.map(([, program]) => program)])
    const isNamed = (name: string) => watching.log().includes(`"program":"${name}"`)
    await until(watching, () => [...expected].every(isNamed))
    // Until a program has written its title, its name is the name of the script.
    const isEarly = (rows: string) => /"program":"(title\.py|python3|cp|mkdir)"/.test(rows)
    await until(watching, () => {
      const last = [...watching.log().matchAll(/^POLICY\n(\[.*\])\n/gm)].at(-1)?.[1] ?? ''
      return last.split('"program":"sshd"').length === 3 && !isEarly(last)
    })
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.policy
    t.strictSame(programs(rows), [...expected, 'sh'].sort())
  })
}

/** Runs programs whose names are the arguments, in hexadecimal. */
const NAMED = `
import os, shutil, sys, time
for name in sys.argv[1:]:
    path = b'/dev/shm/' + bytes.fromhex(name)
    shutil.copy(b'/bin/sleep', path)
    if os.fork() == 0: os.execv(path, [path, b'600'])
time.sleep(600)`

t.test('control characters and invalid UTF-8 in names are replaced', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
  const names: readonly (readonly [string, string])[] = [
    ['csi\u009b2Jx', 'csi?2Jx'],
    ['nel\u0085x', 'nel?x'],
    ['pad\u0080x\u009f', 'pad?x?'],
    ['esc\u001b[2J\u007f', 'esc?[2J?'],
    ['bidi\u202e\u2066x', 'bidi??x'],
    ['mark\u200e\u200f\u061cx', 'mark???x'],
    ['line\u2028\u2029x', 'line??x'],
    ['caf\u00e9\u00a0\u2030', 'caf\u00e9\u00a0\u2030'],
  ]
  const hex = [...names.map(([name]) => Buffer.from(name).toString('hex')), '63c328', '64ffc29b']
  await run('app', ['python3', '-c', NAMED, ...hex])
  const expected = [...names.map(([, shown]) => shown), 'c?(', 'd???']
  await until(watching, () => {
    const rows = [
      ...watching.log().matchAll(/"command":"([^"]*)","container":"app","program":"([^"]*)"/g),
    ]
    return expected.every((name) =>
      rows.some(([, command, program]) => command === name && program === name),
    )
  })
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const log = watching.log()
  t.notMatch(log, /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\ufffd]/u)
  const rows = parse('perf-sysstat', log).data.at(-1)?.policy ?? []
  t.ok(expected.every((name) => rows.some((row) => row.command === name && row.program === name)))
})

function programs(rows: readonly Row[] = []): readonly unknown[] {
  return [...new Set(rows.map((row) => row.program))].sort()
}
