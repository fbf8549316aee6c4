import t, { type Test } from 'tap'
import { FORGED, HARMFUL, HOSTILE, HOSTILE_LINE } from '../../properties/hostile-text.ts'
import { pod } from '../../src/runs/collect/pod.ts'
import { standIn } from '../../stand-ins/pod-logs.ts'
import { until } from '../../until.ts'
import { run } from '../command.ts'
import { openProcessTerminal, type ProcessTerminal } from './process-terminal.ts'
import { pressureRows, RUNNING, type RunOfPods, runOfPods, timepoint } from './run-of-pods.ts'
import { openTerminal, type Terminal, type TerminalSize } from './terminal.ts'

// `top` in a terminal of the test, or in a real one where signals, its settings or its size matter.
// The apiserver is a stand-in, because a real one cannot break a
// connection within a line, and a test with real pods cannot choose the numbers in their logs.
// test/cluster runs `top` on a real Kubernetes.

const ENTER = '\u001b[?1049h'
const LEAVE = '\u001b[?1049l'
const HIDE = '\u001b[?25l'
const SHOW = '\u001b[?25h'

interface Beginning {
  readonly words?: readonly string[]
  readonly size?: TerminalSize
  readonly env?: Readonly<Record<string, string>>
  /** Writes rows before `top` is started. */
  readonly prepare?: (world: RunOfPods) => void
}

type Open<Opened> = (
  t: Test,
  args: readonly string[],
  size?: TerminalSize,
  env?: Readonly<Record<string, string>>,
) => Promise<Opened>

/** Starts `top` in a terminal of the test, on a run with this number of pods. */
const started = (t: Test, pods: number, beginning: Beginning = {}) =>
  startedIn(openTerminal, t, pods, beginning)

/** Starts `top` in a process and a terminal of its own. */
const startedProcess = (t: Test, pods: number, beginning: Beginning = {}) =>
  startedIn(openProcessTerminal, t, pods, beginning)

async function startedIn<Opened extends Terminal>(
  open: Open<Opened>,
  t: Test,
  pods: number,
  { words = [], size, env, prepare = () => {} }: Beginning,
) {
  const world = runOfPods(pods)
  prepare(world)
  const { kubeconfig, asked } = await standIn(t, { pods: () => world.pods, logs: world.logs })
  const args = ['top', 'job/lammps', '--kubeconfig', kubeconfig, ...words]
  const terminal = await open(t, args, size, env)
  return { ...world, kubeconfig, asked, terminal }
}

/** Returns the first words of the lines of the table. */
const podsIn = (screen: readonly string[]) => {
  const header = screen.findIndex((line) => line.startsWith('POD'))
  const lines = screen.slice(header + 1, -1).filter((line) => line !== '')
  return lines.map((line) => line.split(/\s+/)[0])
}

t.test('rows are shown when they arrive, before the next timepoint', async (t) => {
  const { perf, terminal } = await started(t, 2)
  await terminal.shows(/no rows yet/)
  perf[0]?.append(timepoint([{ cpu: 97.5, rss: 2048 }]))
  const screen = await terminal.shows(/97\.5/)
  t.match(screen, /^job\/lammps in hpc: 2 pods, 1 running, 1 without rows yet$/m)
  t.match(screen, /^POD {2,}STATE .*CPU % .*WAIT %▼ .*THROTTLED % .*MEMORY/m)
  t.match(screen, /^0 +running +97\.5 +- +- +2\.0 MiB +- +- +node-1$/m)
  t.match(screen, /^1 +no rows yet +- +- +- +- +- +- +node-1$/m, 'pod 1 has no values')
  terminal.press('q')
  await terminal.end()
})

t.test('counters are shown as their growth, and the lines are sorted by the wait', async (t) => {
  const { perf, pressure, terminal } = await started(t, 3)
  for (const index of [0, 1, 2]) {
    perf[index]?.append(timepoint([{ cpu: 50 + index }]))
    pressure[index]?.append(pressureRows(0, 10, 3))
    // Pod 1 waits for 0.9 s of 2 s; the others for less.
    pressure[index]?.append(pressureRows(2, [10.2, 10.9, 10.4][index] ?? 0, 3 + index / 10))
  }
  const screen = await terminal.shows(/^1 .* 45\.0 .*\n2 .* 20\.0 .*\n0 .* 10\.0 /m)
  t.match(screen, /^1 .* 51\.0 +45\.0 +5\.0 /m)
  t.match(screen, /^sorted by WAIT %$/m)
  terminal.press('q')
  await terminal.end()
})

t.test('keys sort, filter, scroll and show programs and the help', async (t) => {
  const { perf, terminal } = await started(t, 12)
  for (const [index, log] of perf.entries()) {
    const programs = [
      { program: 'lmp', pid: 7, cpu: index },
      { program: 'orted', pid: 1, cpu: 1 },
    ]
    log.append(timepoint(programs))
  }
  await terminal.shows(/ 12\.0 /)
  const after = async (keys: string, pattern: RegExp) => {
    terminal.press(keys)
    return (await terminal.shows(pattern)).split('\n')
  }
  // The left arrow chooses the previous column.
  await after('\u001b[D', /sorted by CPU %\n.*CPU %▼.*\n11 .*\n10 .*\n9 /)
  await after('r', /sorted by CPU %, reversed\n.*CPU %▲.*\n0 .*\n1 .*\n2 /)
  await after('s', /sorted by WAIT %/)
  await after('\u001b[D\u001b[D', /sorted by POD/)
  await after('r', /POD▲/)
  await after('/', /^\/_$/m)
  const found = await after('ABCDE', /12 of 12 lines match/)
  t.match(found.at(-1), '/ABCDE_')
  const one = await after(`${'\u007f'.repeat(5)}-11-`, /1 of 12 lines match/)
  t.strictSame(podsIn(one), ['11'], 'the filter matches a part of the name of the pod')
  await after('\r', /^q quit.*filter: -11-/m)
  const cleared = await after('\u001b', /^q quit.*p programs$/m)
  t.equal(podsIn(cleared).length, 12)
  const programs = await after('p', /^POD▲ +PROGRAM[\s\S]*p pods$/m)
  t.equal(podsIn(programs).length, 20, 'the table shows as many lines as fit')
  t.match(programs.join('\n'), /^0 +orted .* 1\.0/m)
  const scrolled = await after('\u001b[F', /^11 +orted/m)
  t.equal(podsIn(scrolled).length, 20, 'End shows the last page')
  const upwards = await after('\u001b[A\u001b[5~', /^0 +lmp/m)
  t.equal(podsIn(upwards)[0], '0')
  const help = await after('?', /^Keys$/m)
  t.match(help.join('\n'), /THROTTLED % +pressure: seconds for which threads could not run/)
  await after('?', /^POD/m)
  terminal.press('\u0003')
  t.equal((await terminal.end()).code, 0)
})

t.test('the table follows the size of the terminal', async (t) => {
  const { perf, terminal } = await startedProcess(t, 8)
  for (const log of perf) log.append(timepoint([{ cpu: 20 }]))
  await terminal.shows(/^7 .* 20\.0.*node-1/m)
  terminal.resize(60, 8)
  const small = await terminal.shows(/^q quit/m)
  await until('only four pods are shown', async () => {
    return podsIn(await terminal.screen()).length === 4
  })
  t.match(small.split('\n')[0], 'job/lammps')
  for (const line of await terminal.screen()) t.ok(line.length <= 60, line)
  t.match((await terminal.screen()).join('\n'), /WAIT %▼/, 'the sorted column is visible')
  terminal.resize(120, 30)
  await until('all pods are shown', async () => podsIn(await terminal.screen()).length === 8)
  t.match((await terminal.screen()).at(-1), /^q quit/, 'the keys are in the last row')
  terminal.press('q')
  await terminal.end()
})

t.test('only lines of the screen that have changed are written', async (t) => {
  const { perf, terminal } = await started(t, 3)
  for (const log of perf) log.append(timepoint([{ cpu: 20 }]))
  await terminal.shows(/^0 .* 20\.0 .*\n1 .* 20\.0 .*\n2 .* 20\.0 /m)
  const before = terminal.written().length
  perf[1]?.append(timepoint([{ cpu: 77 }]))
  await terminal.shows(/^1 .* 77\.0/m)
  const update = terminal.written().slice(before)
  t.match(update, '77.0')
  t.notMatch(update, '20.0')
  t.notMatch(update, 'POD')
  terminal.press('q')
  await terminal.end()
})

/** A module that throws an error in the middle of the event loop at SIGUSR2. */
const FAULT = "process.on('SIGUSR2', () => { throw new Error('a fault of the test') })\n"

const ENDS: Readonly<Record<string, readonly [string | NodeJS.Signals, number]>> = {
  'the key q': ['q', 0],
  'Ctrl-C': ['\u0003', 0],
  SIGINT: ['SIGINT', 0],
  SIGTERM: ['SIGTERM', 0],
  SIGHUP: ['SIGHUP', 0],
  'an internal error': ['SIGUSR2', 2],
}

for (const [title, [how, expected]] of Object.entries(ENDS)) {
  t.test(`${title} restores the terminal`, async (t) => {
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FAULT)}` }
    const { perf, terminal } = await startedProcess(t, 1, { env })
    perf[0]?.append(timepoint([{ cpu: 20 }]))
    await terminal.shows(/20\.0/)
    t.ok(terminal.isAlternate())
    if (how.startsWith('SIG')) terminal.kill(how as NodeJS.Signals)
    else terminal.press(how)
    const { code, before, after } = await terminal.end()
    t.equal(code, expected)
    t.equal(after, before, 'the settings of the terminal are restored')
    t.notOk(terminal.isAlternate())
    const written = terminal.written()
    t.equal(written.split(ENTER).length, 2)
    t.equal(written.split(LEAVE).length, 2)
    t.ok(written.lastIndexOf(SHOW) > written.lastIndexOf(HIDE), 'the cursor is shown')
    const said = written.slice(written.indexOf(LEAVE) + LEAVE.length)
    t.match(said, expected === 0 ? /^$/ : /^ridealong: internal error: a fault of the test\s*$/)
  })
}

for (const [title, suspend] of [
  ['Ctrl-Z', (terminal: ProcessTerminal) => terminal.press('\u001a')],
  ['SIGTSTP', (terminal: ProcessTerminal) => terminal.kill('SIGTSTP')],
] as const) {
  t.test(`${title} restores the terminal until the command continues`, async (t) => {
    const { perf, terminal } = await startedProcess(t, 1)
    perf[0]?.append(timepoint([{ cpu: 20 }]))
    await terminal.shows(/20\.0/)
    suspend(terminal)
    const settings = await terminal.stopped()
    await until('the alternate screen is left', async () => !terminal.isAlternate())
    t.equal(terminal.written().split(LEAVE).length, 2)
    terminal.foreground()
    await until('the alternate screen is shown', async () => terminal.isAlternate())
    await terminal.shows(/^0 +running +20\.0/m)
    perf[0]?.append(timepoint([{ cpu: 77 }]))
    await terminal.shows(/77\.0/)
    terminal.press('q')
    const { code, before, after } = await terminal.end()
    t.equal(code, 0)
    t.strictSame([settings, after], [before, before], 'the settings of the terminal')
    t.notOk(terminal.isAlternate())
  })
}

t.test('pods without programs are counted and shown', async (t) => {
  const { perf, terminal } = await started(t, 3, { words: ['--by', 'program'] })
  perf[1]?.append(timepoint([{ cpu: 20 }]))
  const screen = await terminal.shows(/^1 +lmp +running +20\.0/m)
  t.match(screen, /hpc: 3 pods, 1 running, 2 without rows yet$/m)
  t.match(screen, /^0 +no rows yet +- +- /m)
  terminal.press('q')
  await terminal.end()
})

t.test('the lines stay sorted by the wait when another metric measures it', async (t) => {
  const prepare = ({ pods }: RunOfPods) => {
    pods[0] = pod({ index: 0, metrics: ['perf-sysstat'], ...RUNNING })
  }
  const { add, terminal } = await started(t, 1, { prepare })
  await terminal.shows(/STATE +FINDING +CPU % +WAIT %▼ +MEMORY/)
  add()
  const screen = await terminal.shows(/THROTTLED/)
  t.match(screen, /^sorted by WAIT %$/m)
  terminal.press('q')
  await terminal.end()
})

t.test('a pod that ends keeps its last values, and is marked as ended', async (t) => {
  const { perf, pressure, pods, terminal } = await started(t, 2)
  for (const log of perf) log.append(timepoint([{ cpu: 20 }]))
  await terminal.shows(/^0 +running +20\.0 .*\n1 +running +20\.0/m)
  pods[0] = pod({ index: 0, metrics: ['perf-sysstat', 'pressure'] })
  perf[0]?.end()
  pressure[0]?.end()
  const screen = await terminal.shows(/^0 +ended +20\.0/m)
  t.match(screen, /^1 +running +20\.0/m)
  // The connections of a pod whose node is lost may stay open after the pod is deleted.
  pods.splice(1, 1)
  await terminal.shows(/^0 +ended +20\.0 .*\n1 +ended +20\.0/m)
  terminal.press('q')
  await terminal.end()
})

t.test('an observer that has written the closing marker is marked as ended', async (t) => {
  const { perf, pressure, terminal } = await started(t, 1)
  perf[0]?.append(`${timepoint([{ cpu: 20 }])}METRICS OPERATOR COLLECTION END\n`)
  pressure[0]?.append('METRICS OPERATOR COLLECTION END\n')
  await terminal.shows(/^0 +ended +20\.0/m)
  terminal.press('q')
  await terminal.end()
})

t.test('pods that appear later are shown', async (t) => {
  const { add, perf, terminal } = await started(t, 1)
  await terminal.shows(/^0 +no rows yet/m)
  add()
  perf[1]?.append(timepoint([{ cpu: 66 }]))
  await terminal.shows(/^1 +running +66\.0/m)
  terminal.press('q')
  await terminal.end()
})

t.test('a pod without recent rows has the state "no rows for"', async (t) => {
  // The two timepoints are a second apart, and the last is more than half a minute old.
  const old = pressureRows(-31, 1, 0) + pressureRows(-30, 1.5, 0)
  const prepare = ({ pressure }: RunOfPods) => pressure[0]?.append(old)
  const { terminal } = await started(t, 1, { prepare })
  const screen = await terminal.shows(/^0 +no rows for \d+ (s|min) +- +50\.0/m)
  t.match(screen, /1 pod, 1 without recent rows/)
  terminal.press('q')
  await terminal.end()
})

t.test('after a connection breaks within a line, no row is lost or doubled', async (t) => {
  const { pressure, asked, terminal } = await started(t, 1)
  const log = pressure[0]
  log?.append(pressureRows(0, 1, 0))
  log?.append(pressureRows(1, 1.25, 0))
  await terminal.shows(/^0 .* - +25\.0/m)
  const rows = pressureRows(2, 1.75, 0)
  const cut = rows.length - 20
  log?.append(rows.slice(0, cut))
  log?.breakConnections()
  log?.append(rows.slice(cut))
  // The growth since second 1: this timepoint was not skipped, and the rows of second 2 were not
  // read twice.
  await terminal.shows(/^0 .* - +50\.0/m)
  log?.append(pressureRows(3, 1.8, 0))
  await terminal.shows(/^0 .* - +5\.0/m)
  const requests = asked.filter((path) => /pressure/.test(path) && /\/log\?/.test(path))
  t.equal(requests.length, 2)
  t.match(requests[0], /tailLines=5000/)
  t.match(requests[1], /sinceTime=\d{4}-/)
  terminal.press('q')
  await terminal.end()
})

t.test('a log that cannot be read is reported, and is read again later', async (t) => {
  const world = runOfPods(2)
  const answer = world.logs['lammps-1-abcde/perf-sysstat']
  let isRefused = true
  const logs = {
    ...world.logs,
    'lammps-1-abcde/perf-sysstat': ((response, query) => {
      if (!isRefused) return answer?.(response, query)
      response.writeHead(500).end(JSON.stringify({ message: 'the kubelet is away' }))
    }) as typeof answer & {},
  }
  const { kubeconfig } = await standIn(t, { pods: () => world.pods, logs })
  const terminal = await openTerminal(t, ['top', 'job/lammps', '--kubeconfig', kubeconfig])
  await terminal.shows(/1 log cannot be read: lammps-1-abcde\/perf-sysstat: the kubelet is away/)
  world.perf[1]?.append(timepoint([{ cpu: 20 }]))
  isRefused = false
  const screen = await terminal.shows(/^1 +running +20\.0/m)
  t.notMatch(screen, 'cannot be read')
  terminal.press('q')
  await terminal.end()
})

t.test('at most as many logs are followed as --parallel allows', async (t) => {
  const { perf, terminal } = await started(t, 3, { words: ['--parallel', '4'] })
  for (const log of perf) log.append(timepoint([{ cpu: 20 }]))
  const screen = await terminal.shows(/2 logs not followed \(to follow more, use --parallel\)/)
  t.match(screen, /^2 +not followed/m)
  t.match(screen, /1 not followed/)
  terminal.press('q')
  await terminal.end()
})

t.test('hostile names have no effect on the terminal', async (t) => {
  const { perf, terminal } = await started(t, 1, { words: ['--by', 'program'] })
  perf[0]?.append(timepoint([{ program: HOSTILE, cpu: 20 }]))
  perf[0]?.append(`${HOSTILE_LINE}\n`)
  const screen = await terminal.shows(/20\.0/)
  t.match(screen, /\\u001b\]0;PWNED/)
  terminal.press('/PWNED')
  await terminal.shows(/1 of 1 lines match/)
  terminal.press('\rq')
  await terminal.end()
  const [, shown = ''] = terminal.written().split(ENTER)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these sequences are Ridealong's own.
  const rest = shown.replaceAll(/\u001b\[(\?(25|7|1049)[hl]|2J|K|\d+;1H|[\d;]*m)/g, '')
  t.equal(HARMFUL.exec(rest.replaceAll('\r\n', '\n'))?.[0], undefined)
  t.notMatch(rest, FORGED)
})

t.test('wide characters keep the columns aligned', async (t) => {
  const { perf, terminal } = await started(t, 1, { words: ['--by', 'program'] })
  const programs = [
    { program: '計算', pid: 1, cpu: 11 },
    { program: 'lmp', pid: 2, cpu: 12 },
  ]
  perf[0]?.append(timepoint(programs))
  const screen = (await terminal.shows(/12\.0/)).split('\n')
  const [wide = '', narrow = ''] = ['計算', 'lmp'].map((program) =>
    screen.find((line) => line.includes(program)),
  )
  // A wide character takes two cells of the screen, but is one character of the text.
  t.equal(wide.indexOf('running') + 2, narrow.indexOf('running'))
  terminal.press('q')
  await terminal.end()
})

t.test('without colours, the sorted column and the state are still visible', async (t) => {
  const { terminal } = await started(t, 1, { env: { NO_COLOR: '1' } })
  await terminal.shows(/WAIT %▼[\s\S]*no rows yet/)
  terminal.press('q')
  await terminal.end()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with Escape.
  t.notMatch(terminal.written(), /\u001b\[\d+m/)
})

t.test('without a terminal, the message names --once', async (t) => {
  const { code, out, err } = await run(['top', 'job/lammps'])
  t.equal(code, 2)
  t.equal(out, '')
  t.match(err, /standard output is not a terminal .* --once prints one table/)
})
