import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { dataOf } from '../../src/runs/report/data-of.ts'
import { run, runInTerminal } from '../command.ts'
import { plainEnvironment } from '../host.ts'

const logs = (name: string) => fileURLToPath(new URL(`../../logs/${name}`, import.meta.url))
const PERF = logs('perf-sysstat-head-format-generated.log')

t.test(
  'the page for logs of the Metrics Operator explains averages and values of the node',
  async (t) => {
    const files = readdirSync(logs('')).filter((name) => /(?<!ridealong)\.log$/.test(name))
    const { code, out, err } = await run(['report', '-o', 'html', ...files.map(logs)])
    t.equal(code, 0, err)
    const data = dataOf(out)
    t.equal(data.logs, files.length)
    t.match(data.programs, ['python3.8', 'sh'])
    t.match(data.notices[0], /each contains averages since the node started/)
    t.match(data.rows[1], { program: 'sh', pod: 'perf-sysstat-head-format-generated.log' })
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
    const words = ['report', PERF, '--to', page, '--title', 'LAMMPS & <friends>']
    const { code, out, err } = await run(words)
    t.equal(code, 0)
    t.match(out, /^LAMMPS & <friends>\n/, 'the text is printed')
    t.equal(err, `ridealong: wrote ${page}\n`)
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
  const { code, out } = await run(['report', '-', '-o', 'html'], readFileSync(PERF, 'utf8'))
  t.equal(code, 0)
  t.match(dataOf(out), { pods: ['standard input'], samples: 3 })
})

t.test(
  'a file that is not a log, or a page that cannot be written, is reported, and no page is written',
  async (t) => {
    const folder = t.testdir({ 'a.txt': 'hello\n', empty: '', sub: {} })
    const page = join(folder, 'page.html')
    for (const [name, sentence] of [
      ['a.txt', /a\.txt is neither the log of an observer nor the output of collect/],
      ['empty', /empty is neither/],
      ['none', /there is no file or folder .*none; a run of the cluster is KIND\/NAME/],
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
  const own = ['-o', 'html', PERF, logs('io-sysstat-human.log'), '--column', 'percent_wait', 'r_s']
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

t.test('the text has the verdict, the efficiency and the worst findings', async (t) => {
  const files = ['pressure', 'perf-sysstat'].map((name) => logs(`findings/${name}-lammps.log`))
  const { code, out, err } = await run(['report', ...files])
  t.strictSame([code, err], [0, ''])
  const json = JSON.parse((await run(['report', ...files, '-o', 'json'])).out)
  const [title, verdict, advice, gap, factors] = out.split('\n')
  t.strictSame(
    [title, verdict, advice, gap],
    ['Job/ranks in hpc', json.verdict, `What to do: ${json.advice}`, ''],
  )
  t.equal(factors, 'Efficiency at most 0.50 = platform 0.50 × storage 1.00 × activity 1.00')
  t.match(out, `\n\nFindings, the worst first:\n  Throttled  ${json.findings[0].sentence}\n`)
  t.equal(json.notices.length, 3)
  t.ok(out.endsWith(`\nNotes about the data:\n  ${json.notices.join('\n  ')}\n`))
  const narrow = await runInTerminal(['report', ...files], 60)
  t.ok(narrow.out.split('\n').every((line) => stripVTControlCharacters(line).length <= 60))
})

t.test('a page replaces a page of the same run, and any other file only by force', async (t) => {
  const folder = t.testdir({ 'mine.html': '<title>My molecules</title>', 'empty.html': '' })
  const [mine, page] = [join(folder, 'mine.html'), join(folder, 'page.html')]
  const [first, second] = [PERF, logs('perf-sysstat-ridealong.log')]
  t.match(await run(['report', first, '--to', page]), { code: 0 })
  t.match(await run(['report', first, '--to', page, '--title', 'again']), { code: 0 })
  const written = readFileSync(page, 'utf8')
  t.match(written, '<title>again</title>')
  t.match(await run(['report', second, '--to', page]), {
    code: 2,
    err: `${page} is the page of another run: use --force to replace it, or --to with another file`,
  })
  t.equal(readFileSync(page, 'utf8'), written)
  t.match(await run(['report', first, '--to', mine]), { code: 2, err: /is not a page of a run/ })
  t.equal(readFileSync(mine, 'utf8'), '<title>My molecules</title>')
  for (const file of [page, mine])
    t.match(await run(['report', second, '--to', file, '--force']), { code: 0 })
  t.match(readFileSync(mine, 'utf8'), dataOf(readFileSync(page, 'utf8')).pods[0])
  t.match(await run(['report', second, '--to', join(folder, 'empty.html')]), { code: 0 })
})

t.test('--open opens the page in a browser', async (t) => {
  const folder = t.testdir({ bin: {} })
  const [page, opened] = [join(folder, 'page.html'), join(folder, 'opened')]
  const environment = { ...plainEnvironment(), PATH: join(folder, 'bin') }
  const open = ['report', PERF, '--to', page, '--open']
  t.match(await run(open, '', { environment }), {
    code: 0,
    err: /cannot open .*page\.html in a browser: the program xdg-open does not start \(ENOENT\)\n$/,
  })
  const script = `#!/bin/sh\nprintf %s "$1" > ${opened}.part && /bin/mv ${opened}.part ${opened}\n`
  writeFileSync(join(folder, 'bin/xdg-open'), script, { mode: 0o755 })
  t.match(await run(open, '', { environment }), { code: 0, err: `ridealong: wrote ${page}\n` })
  while (!existsSync(opened)) await sleep(20)
  t.equal(readFileSync(opened, 'utf8'), page)
  for (const words of [['--to', join(folder, 'a.json')], []])
    t.match(await run(['report', PERF, '--open', ...words]), {
      code: 2,
      out: '',
      err: 'ridealong: --open needs a page: use --to FILE.html\n',
    })
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
    pods: [{ podIndex: '0' }],
    logs: 2,
    findings: [
      {
        rule: 'throttled',
        severity: 'slowdown',
        scope: 'pod',
        threshold: { value: 25, unit: 'percent' },
        pods: [{ podIndex: '0', things: ['container app'] }],
        column: { metric: 'pressure', section: 'container', column: 'throttled' },
      },
    ],
    explained: [],
  })
  t.notOk('lost' in document.findings[0] || 'plot' in document.findings[0])
  const file = join(t.testdir({}), 'findings.json')
  const written = await run(['report', ...files, '-o', 'json', '--to', file, '--title', 'a run'])
  t.match(written, { code: 0, out: /^a run\n/, err: `ridealong: wrote ${file}\n` })
  t.strictSame(JSON.parse(readFileSync(file, 'utf8')), { ...document, title: 'a run' })
  const byEnding = file.replace(/json$/, 'yaml')
  t.match(await run(['report', ...files, '--to', byEnding]), { code: 0 })
  t.strictSame(parse(readFileSync(byEnding, 'utf8')), document)
  const wrong = await run(['report', ...files, '-o', 'csv'])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /Allowed choices are text, json, yaml, html/)
})

t.test('report reads the logs in a folder, and says that --to is a folder', async (t) => {
  const [one = '', other = ''] = [0, 1].map((pod) =>
    readFileSync(logs(`all-metrics/lammps-${pod}.vitals.log`), 'utf8'),
  )
  const folder = t.testdir({ run: { 'a.log': one, 'b.log': other, 'page.html': '' } })
  const [a, b] = ['a', 'b'].map((name) => join(folder, `run/${name}.log`)) as [string, string]
  const whole = await run(['report', '-o', 'json', join(folder, 'run')])
  t.match(whole, { code: 0, err: '' })
  t.strictSame(whole, await run(['report', '-o', 'json', a, b]))
  t.match(await run(['report', a, '--to', `${folder}/run/`]), {
    code: 2,
    err: `ridealong: cannot write ${folder}/run/: it is a folder; name a file in it\n`,
  })
})
