import t from 'tap'
import { listProcessOneUses } from '../../../../src/core/rules/process-one.ts'
import { type Json, podOf, ride } from '../build.ts'

const preStop = (...command: string[]) => ({ lifecycle: { preStop: { exec: { command } } } })
const liveness = (...command: string[]) => ({ livenessProbe: { exec: { command } } })
const shell = (script: string) => ({ command: ['sh', '-c', script] })

function usesOf(container: Json, key = 'containers') {
  return listProcessOneUses({ [key]: [{ name: 'app', ...container }] })
}

t.test('probes, hooks, commands and programs that need process 1 are found', async (t) => {
  const uses = (what: string) => `the ${what} of container app uses process 1`
  const args = 'the args of container app use process 1'
  const init = (program: string) => `${program} of container app must be process 1`
  const rows: readonly (readonly [Json, string])[] = [
    [preStop('/bin/sh', '-c', 'sleep 5; kill -QUIT 1'), uses('preStop')],
    [preStop('kill', '-s', 'TERM', '1'), uses('preStop')],
    [preStop('sh', '-c', 'kill 1 && sleep 3'), uses('preStop')],
    [liveness('sh', '-c', 'grep -q solverd </proc/1/cmdline'), uses('livenessProbe')],
    [liveness('test', '-d', '/proc/1'), uses('livenessProbe')],
    [shell('solver >> /proc/1/fd/1 2>&1'), uses('command')],
    [{ command: ['sh'], args: ['-c', 'sleep 100; kill -TERM 1'] }, args],
    [{ args: ['kill -2 "1"'] }, args],
    [shell('kill -15 -- 1\nwait'), uses('command')],
    [shell('tail --pid=1 -f log'), uses('command')],
    [shell('if [ "$$" -eq 1 ]; then setup; fi'), uses('command')],
    [shell('[ $$ = 1 ] || exit 3'), uses('command')],
    [shell('trap "kill 1" TERM'), uses('command')],
    [shell('/bin/kill -s TERM 1 >/dev/null'), uses('command')],
    [shell('nsenter -t 1 -m ls'), uses('command')],
    [shell('nsenter --target=1 ls'), uses('command')],
    [{ command: ['/init'] }, init('/init')],
    [{ args: ['/init', 'a'] }, init('/init')],
    [{ command: ['/sbin/init', '--log'] }, init('/sbin/init')],
    [{ command: ['sh'], args: ['-c', 'setup && exec /init'] }, init('/init')],
    [{ command: ['bash', '-lc', '/lib/systemd/systemd'] }, init('/lib/systemd/systemd')],
  ]
  for (const [container, clause] of rows) {
    t.strictSame(usesOf(container), [clause], JSON.stringify(container))
    t.strictSame(usesOf(container, 'initContainers'), [clause])
  }
})

t.test('other commands and programs are not mentioned', async (t) => {
  const scripts = [
    ...['kill -1 1234', 'kill 10', 'kill -9 12', 'sleep 1', 'cat /proc/12/stat', 'ls'],
    ...[
      'kill $PID; sleep 1',
      'solver 1',
      'skill 1',
      '[ $$ -eq 12 ]',
      'tail --pid=12',
      'cp /init /a',
    ],
  ]
  scripts.push(
    ...["trap 'kill $pid' 1 2 15", 'timeout --kill-after 1 30 app', 'app --kill-timeout 1'],
    ...['kill -9 $PID 2> /dev/null 1>&2', 'kill `cat pid` 1>/dev/null', 'kill -s 1 12'],
    ...['srun --kill-on-bad-exit 1 app', 'train --target 1', 'train --target 1.5', 'x --pid 1.5'],
  )
  for (const script of scripts) t.strictSame(usesOf(shell(script)), [], script)
  t.strictSame(usesOf({ command: ['tar', '-c', '/init'] }), [], '-c of another program')
  for (const program of ['/tini', '/usr/bin/tini', '/usr/bin/dumb-init', '/sbin/my_init'])
    t.strictSame(usesOf({ command: [program, '--', 'app'] }), [], program)
  t.strictSame(usesOf({ command: 'kill 1', livenessProbe: { exec: { command: 'kill 1' } } }), [])
  t.strictSame(usesOf({ lifecycle: 7, args: [1, null] }), [])
})

t.test('a pod whose containers share their processes without us is not mentioned', async (t) => {
  const containers = [{ name: 'app', ...shell('kill 1') }]
  t.strictSame(listProcessOneUses({ containers, shareProcessNamespace: true }), [])
  t.equal(listProcessOneUses({ containers, shareProcessNamespace: false }).length, 1)
})

t.test('the time is linear in the length of a command', async (t) => {
  const timeOf = (text: string) => {
    const started = process.cpuUsage()
    usesOf(shell(text))
    return process.cpuUsage(started).user / 1000
  }
  const words = ['kill ', '$$', '$$ ', '/proc/', '1 ', '--pid ', 'exec ', '-c ', ';kill', ';', '\n']
  for (const word of [...words, 'kill "', ' ', 'nsenter ', 'nsenter -t', '"kill 2', '>', '; ']) {
    const best = (size: number) =>
      Math.min(...[1, 2, 3, 4, 5].map(() => timeOf(word.repeat(size / word.length))))
    const [small, large] = [best(8000), best(64_000)]
    t.ok(large <= 12 * Math.max(small, 2), `${word}: ${small} ms and ${large} ms`)
  }
})

t.test('only the beginning of a long command is read', async (t) => {
  const before = 'x '.repeat(40_000)
  t.strictSame(usesOf(shell(`${before}; kill 1`)), [])
  t.equal(usesOf(shell(`kill 1; ${before}`)).length, 1)
})

t.test('a pod with many such containers gets one warning of limited length', async (t) => {
  const containers = Array.from({ length: 200 }, (_, at) => ({
    name: `a${at}`,
    ...shell('kill 1'),
  }))
  const { warnings } = ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, { containers }))
  t.equal(warnings.length, 1)
  t.match(
    warnings[0],
    /container a0 uses process 1.* and 19\d more; with an observer, process 1 is/,
  )
})

t.test('the webhook warns of a pod with observers that uses process 1', async (t) => {
  const containers = [{ name: 'app', ...shell('solver >> /proc/1/fd/1') }]
  const { word, warnings } = ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, { containers }))
  t.equal(word, 'injected')
  t.strictSame(warnings, [
    'ridealong: the command of container app uses process 1; with an observer, process 1 is the ' +
      'pause process of the pod',
  ])
  t.strictSame(ride(podOf({}, { containers })).warnings, [])
})
