import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run, runInTerminal } from '../command.ts'

const LOGS = fileURLToPath(new URL('../../logs/', import.meta.url))
const PROFILES = readdirSync(join(LOGS, 'profiles'))
  .sort()
  .map((name) => join(LOGS, 'profiles', name))
const MPI = join(LOGS, 'mpi/mpi-trace-even-0.log')
/** Logs of one run, of which each format can show some. */
const RUN = ['0.cpu-profile', '1.cpu-profile', '0.mpi-trace'].map((name) =>
  join(LOGS, `all-metrics/lammps-${name}.log`),
)
const PROFILE = PROFILES[0] as string

t.test('the ending of --to, or --format, chooses the format', async (t) => {
  const folder = t.testdir({ 'old.folded': 'before' })
  const printed = await run(['convert', ...PROFILES, '--format', 'collapsed'])
  t.strictSame([printed.code, printed.err], [0, ''])
  t.match(printed.out, /^cpu-profile-lammps-0\.log;lmp;.* \d+\n/)
  for (const words of [
    ['new.COLLAPSED'],
    ['old.folded'],
    ['stacks.txt', '--format', 'collapsed'],
  ]) {
    const [name = '', ...options] = words
    const to = join(folder, name)
    const { code, out, err } = await run(['convert', ...PROFILES, '--to', to, ...options])
    t.strictSame([code, out, err], [0, '', ''])
    t.equal(readFileSync(to, 'utf8'), printed.out, `${name} has the same stacks`)
  }
  t.strictSame(readdirSync(folder).sort(), ['new.COLLAPSED', 'old.folded', 'stacks.txt'])
})

t.test('each format has an ending', async (t) => {
  const folder = t.testdir({})
  for (const [name, beginning] of [
    ['run.collapsed', '0;lmp;'],
    ['run.speedscope.json', '{"$schema":'],
    ['run.pb.gz', '\x1f\x8b'],
    ['run.pprof', '\x1f\x8b'],
    ['run.trace.json', '{"displayTimeUnit":"ms"'],
  ] as const) {
    const { code, err } = await run(['convert', ...RUN, '--to', join(folder, name)])
    t.strictSame([code, err], [0, ''])
    t.equal(readFileSync(join(folder, name), 'latin1').slice(0, beginning.length), beginning)
  }
})

t.test('a binary format is printed to a pipe, but not to a terminal', async (t) => {
  const printing = ['convert', ...PROFILES, '--format', 'pprof']
  t.ok((await run(printing)).out.startsWith('\x1f'))
  const { code, out } = await runInTerminal(printing)
  t.equal(code, 2)
  t.equal(
    out,
    'ridealong: the output is not text, and standard output is a terminal: use --to FILE\n',
  )
})

t.test('a log from standard input is converted', async (t) => {
  const { code, out } = await run(
    ['convert', '-', '--format', 'collapsed', '--to', '-'],
    readFileSync(PROFILE, 'utf8'),
  )
  t.equal(code, 0)
  t.match(out, /^standard input;lmp;/)
})

t.test(
  'a problem with the format or with a file is reported, and no file is written',
  async (t) => {
    const folder = t.testdir({ 'a.txt': 'hello\n' })
    const to = join(folder, 'out.folded')
    for (const [args, sentence] of [
      [[PROFILE], /the format is not known: use --format, or --to with the name of a file/],
      [
        [PROFILE, '--to', join(folder, 'out.json')],
        /the ending of .*out\.json stands for no format: .*\.collapsed or \.folded for collapsed/,
      ],
      [[PROFILE, '--format', 'svg'], /Allowed choices are collapsed/],
      [[MPI, '--to', to], /cannot convert the run to collapsed: no stacks .* with cpu-profile/],
      [[join(folder, 'a.txt'), '--to', to], /a\.txt is neither the log of an observer nor/],
      [[PROFILE, '--to', join(folder, 'no/out.folded')], /cannot write .*out\.folded: /],
    ] as const) {
      const { code, out, err } = await run(['convert', ...args])
      t.strictSame([code, out], [2, ''])
      t.match(err, sentence)
    }
    t.strictSame(readdirSync(folder), ['a.txt'])
  },
)

t.test('notices say which rows are missing', async (t) => {
  const [whole = '', cut = ''] = PROFILES.map((path) => readFileSync(path, 'utf8'))
  const file = join(
    t.testdir({ 'cut.log': cut.split('METRICS OPERATOR COLLECTION END')[0] ?? '' }),
    'cut.log',
  )
  const killed = whole.replace('"profile":"complete"', '"profile":"incomplete"')
  const { code, err } = await run(['convert', '-', file, '--format', 'collapsed'], killed)
  t.equal(code, 0)
  t.match(err, /cut\.log: is incomplete: its end is missing/)
  t.match(err, /Not all stacks of these processes are known: lmp 17 \(incomplete\) of pod standard/)
})
