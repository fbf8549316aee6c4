import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { dataOf } from '../../src/runs/report/data-of.ts'
import { run } from '../command.ts'

const logs = (name: string) => fileURLToPath(new URL(`../../logs/${name}`, import.meta.url))
const PERF = logs('perf-sysstat-head-format-generated.log')

t.test(
  'the page for logs of the Metrics Operator explains averages and values of the node',
  async (t) => {
    const files = readdirSync(logs('')).filter((name) => /(?<!ridealong)\.log$/.test(name))
    const { code, out, err } = await run(['report', ...files.map(logs)])
    t.equal(code, 0, err)
    const data = dataOf(out)
    t.equal(data.logs, files.length)
    t.match(data.programs, ['python3.8', 'sh'])
    t.match(data.notices[0], /each contains averages since the node started/)
    t.match(data.rows[1], { program: 'sh', rank: 'perf-sysstat-head-format-generated.log' })
    const total = data.columns.findIndex(({ key }) => key === 'cpu_seconds')
    t.equal(data.rows[1]?.values[total], null, 'a process with averages has no total')
    t.ok(data.devices.lines.some(({ program }) => program === 'nvme0n1'))
    t.match(out, 'These numbers are about the node, not the pod')
  },
)

t.test(
  'the page is one file that loads no other file, and contains the licence of uPlot',
  async (t) => {
    const page = join(t.testdir({}), 'page.html')
    const { code, out } = await run(['report', PERF, '--to', page, '--title', 'LAMMPS & <friends>'])
    t.equal(code, 0)
    t.equal(out, '')
    const html = readFileSync(page, 'utf8')
    t.match(html, '<title>LAMMPS &amp; &lt;friends&gt;</title>')
    t.match(html, "default-src 'none'")
    t.notMatch(html, /<(link|script|img)[^>]+(src|href)="(?!data:)/)
    t.match(html, 'Permission is hereby granted, free of charge')
  },
)

t.test('a link under the temporary name of the page is not followed', async (t) => {
  const folder = t.testdir({ victim: 'mine' })
  symlinkSync('victim', join(folder, 'out.html.partial'))
  const { code, err } = await run(['report', PERF, '--to', join(folder, 'out.html')])
  t.equal(code, 0, err)
  t.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'mine')
  t.match(readFileSync(join(folder, 'out.html'), 'utf8'), '<title>')
  t.strictSame(readdirSync(folder).sort(), ['out.html', 'victim'])
})

t.test('ridealong report - reads a log from standard input', async (t) => {
  const { code, out } = await run(['report', '-'], readFileSync(PERF, 'utf8'))
  t.equal(code, 0)
  t.match(dataOf(out), { ranks: ['standard input'], samples: 3 })
})

t.test(
  'a file that is not a log, or a page that cannot be written, is reported, and no page is written',
  async (t) => {
    const folder = t.testdir({ 'a.txt': 'hello\n', empty: '', sub: {} })
    const page = join(folder, 'page.html')
    for (const [name, sentence] of [
      ['a.txt', /a\.txt is neither the log of an observer nor the output of collect/],
      ['empty', /empty is neither/],
      ['none', /cannot read .*none: no such file or directory \(ENOENT\)/],
      ['sub', /sub has no logs/],
    ] as const) {
      const { code, out, err } = await run(['report', PERF, join(folder, name), '--to', page])
      t.equal(code, 2)
      t.equal(out, '')
      t.match(err, sentence)
      t.equal(err.split('\n').length, 2)
    }
    const { code, err } = await run(['report', PERF, '--to', join(folder, 'no', 'page.html')])
    t.equal(code, 2)
    t.match(err, /cannot write .*page\.html: /)
    t.strictSame(readdirSync(folder).sort(), ['a.txt', 'empty', 'sub'])
  },
)

t.test('--column adds a measured column of processes or of devices to the page', async (t) => {
  const own = [PERF, logs('io-sysstat-human.log'), '--column', 'percent_wait', 'r_s']
  const { code, out, err } = await run(['report', ...own])
  t.equal(code, 0, err)
  const { columns, rows, plots, devices } = dataOf(out)
  t.match(columns.at(-1), { title: 'Waiting to run, mean', unit: '%', meaning: /waiting to run$/ })
  t.match(plots.measures.at(-1), { title: 'Waiting to run', unit: '%' })
  t.equal(plots.measures.length, 7)
  t.match(devices.measures.at(-1), { title: 'Reads', unit: '/s' })
  const shell = plots.lines.find(({ program }) => program === 'sh')
  t.strictSame(shell?.values.at(-1), [0, 0.05, 0.1], 'the plotted values are the values of the log')
  t.type(rows.find(({ program }) => program === 'sh')?.values.at(-1), 'number')
  const wrong = await run(['report', PERF, '--column', 'pid'])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /no column pid to plot; their columns are percent_usr, .*, util\n$/)
})

t.test('the findings are printed as JSON for programs', async (t) => {
  const files = ['pressure', 'perf-sysstat'].map((name) => logs(`findings/${name}-lammps.log`))
  const { code, out, err } = await run(['report', ...files, '--output', 'json'])
  t.equal(code, 0, err)
  const document = JSON.parse(out)
  t.match(document, {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Findings',
    title: 'Job/ranks in hpc',
    ranks: [{ rank: '0' }],
    logs: 2,
    findings: [
      {
        rule: 'throttled',
        severity: 'slowdown',
        scope: 'rank',
        threshold: { value: 25, unit: 'percent' },
        ranks: [{ rank: '0', things: ['container app'] }],
        column: { metric: 'pressure', section: 'container', column: 'throttled' },
      },
    ],
    explained: [],
  })
  t.notOk('lost' in document.findings[0] || 'plot' in document.findings[0])
  const file = join(t.testdir({}), 'findings.json')
  const written = await run(['report', ...files, '-o', 'json', '--to', file, '--title', 'a run'])
  t.strictSame([written.code, written.out], [0, ''])
  t.strictSame(JSON.parse(readFileSync(file, 'utf8')), { ...document, title: 'a run' })
  const wrong = await run(['report', ...files, '-o', 'yaml'])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /Allowed choices are html, json/)
})

t.test('report reads the logs in a folder, and says that --to is a folder', async (t) => {
  const log = readFileSync(logs('perf-sysstat-ridealong.log'), 'utf8')
  const folder = t.testdir({ run: { 'a.log': log, 'b.log': log, 'page.html': '' } })
  const [a, b] = ['a', 'b'].map((name) => join(folder, `run/${name}.log`)) as [string, string]
  const whole = await run(['report', '-o', 'json', join(folder, 'run')])
  t.match(whole, { code: 0, err: '' })
  t.strictSame(whole, await run(['report', '-o', 'json', a, b]))
  t.strictSame(await run(['report', a, '--to', `${folder}/run/`]), {
    code: 2,
    out: '',
    err: `ridealong: cannot write ${folder}/run/: it is a folder; name a file in it\n`,
  })
})
