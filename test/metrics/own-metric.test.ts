import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { run } from '../cli/command.ts'
import { REPOSITORY } from '../docs/pages.ts'
import { exportTo, receive } from '../observers/live-export/receiver.ts'
import { observer } from '../observers/pod.ts'
import { observerTests } from '../observers/prerequisites.ts'
import { pod } from '../src/runs/collect/pod.ts'
import { browserOf, coloursOf } from '../src/runs/report/browser.ts'
import { dataOf } from '../src/runs/report/data-of.ts'
import { standIn } from '../stand-ins/pod-logs.ts'
import { CHROMIUM } from '../tiers/tiers.ts'
import { until } from '../until.ts'
import { podOf, reviewOf } from '../webhook/server.ts'
import { runObserver } from './own-metric.ts'

// Tests of metrics that are not built in. Each metric consists of a shell script that prints JSON
// Lines, and a catalog document that describes these lines.

/**
 * An observer of furnaces. The third pod is hot. One line is not a row. The observer cannot read
 * one value, and prints a notice with the cause. After four timepoints, it waits for SIGTERM, so
 * that all pods have the same number of rows.
 */
const SCRIPT = `#!/bin/sh
trap 'echo "METRICS OPERATOR COLLECTION END"; exit 0' TERM
echo 'METADATA START {"metricName":"furnace","metricOptions":{"rate":1}}'
echo 'METADATA END'
echo 'METRICS OPERATOR COLLECTION START'
heat=$((20 + 40 * (JOB_COMPLETION_INDEX == 2)))
second=0
while :; do
  time="2026-01-01T10:00:$(printf %02d $second).000Z"
  for zone in top bottom; do
    printf '{"time":"%s","section":"zone","zone":"%s","heat":%s,"joules":%s,"flow":-1.%s}\\n' \\
      "$time" "$zone" "$heat" "$((second * heat))" "$((5 + second))"
  done
  printf '{"time":"%s","section":"door","door":"front","opened":%s,"state":null}\\n' "$time" $second
  test $second = 0 && echo 'the furnace hums'
  test $second = 1 && printf '{"time":"%s","notice":"the state of the door is secret"}\\n' "$time"
  second=$((second + 1))
  while test $second = 4; do sleep 0.02; done
done
`

const DOCUMENT = `apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata: {name: furnace}
spec:
  description: a furnace beside the pod
  privilege: restricted
  rows:
    format: jsonl
    sections:
      - name: zone
        of: device
        description: the zones of the furnace
        columns:
          - {name: zone, type: text, key: true, meaning: the zone}
          - {name: heat, type: number, unit: Cel, behavior: gauge, meaning: its temperature}
          - {name: joules, type: number, unit: J, behavior: counter, meaning: energy used so far}
          - {name: flow, type: number, unit: ratio, behavior: gauge, meaning: the flow of air}
      - name: door
        of: interface
        description: the doors of the furnace
        columns:
          - {name: door, type: text, key: true, meaning: the door}
          - {name: opened, type: number, unit: count, behavior: counter, meaning: times it opened}
          - {name: state, type: text, meaning: open or shut}
  container:
    image: registry.example.org/furnace:1
    command: [furnace]
    resources: {limits: {cpu: 10m, memory: 16Mi}}
`

const PODS = [0, 1, 2, 3, 4]

/** Writes the script and the document of a metric to a folder, and returns the paths. */
function workplace(t: Test, script: string, document: string) {
  const folder = t.testdir({ catalog: { 'own.yaml': document }, 'observer.sh': script })
  return { folder, catalog: join(folder, 'catalog'), script: join(folder, 'observer.sh') }
}

/** The logs of all pods. The first test that needs the logs runs the observers. */
let ranLogs: Promise<Readonly<Record<string, string>>> | undefined

/** Runs the observers of all pods, and returns their logs by POD/CONTAINER. */
async function runPods(script: string): Promise<Readonly<Record<string, string>>> {
  const running = PODS.map(async (index) => {
    const log = await runObserver(script, 13, { JOB_COMPLETION_INDEX: String(index) })
    return [`lammps-${index}-abcde/furnace`, log] as const
  })
  return Object.fromEntries(await Promise.all(running))
}

/** Starts a stand-in for an apiserver, which serves the logs of all pods. */
async function furnaces(t: Test) {
  const { folder, catalog, script } = workplace(t, SCRIPT, DOCUMENT)
  ranLogs ??= runPods(script)
  const logs = await ranLogs
  const known = await loadCatalog({ folder: catalog })
  const pods = () => PODS.map((index) => pod({ index, metrics: ['furnace'], catalog: known }))
  const { kubeconfig } = await standIn(t, { pods, logs })
  const args = ['--kubeconfig', kubeconfig, '--catalog', catalog]
  const collect = (...more: readonly string[]) => run(['collect', 'job/lammps', ...more, ...args])
  const top = (...more: readonly string[]) => run(['top', 'job/lammps', '--once', ...more, ...args])
  return { folder, catalog, collect, top, log: logs['lammps-2-abcde/furnace'] ?? '' }
}

const linesOf = (text: string) => text.trimEnd().split('\n')

t.test('test --catalog uses the metric, and reports a mistake in its document', async (t) => {
  const asks = JSON.stringify(reviewOf(podOf({ 'ridealong.dev/inject': 'furnace' })))
  const cases = t.testdir({ catalog: { 'own.yaml': DOCUMENT }, asks: { 'review.json': asks } })
  const catalog = join(cases, 'catalog')
  t.equal((await run(['test', cases, '--catalog', catalog, '--update'])).code, 0)
  t.match(readFileSync(join(cases, 'asks', 'answer.json'), 'utf8'), '"name": "furnace"')
  const { code, out } = await run(['test', cases, '--catalog', catalog])
  t.equal(code, 0, out)
  writeFileSync(join(catalog, 'own.yaml'), DOCUMENT.replace('unit: Cel', 'unit: hot'))
  const broken = await run(['test', cases, '--catalog', catalog])
  t.equal(broken.code, 2)
  t.match(broken.err, /metric furnace: spec\.rows\.sections\.0\.columns\.1\.unit must be one of /)
})

t.test('metrics --catalog shows the rows that the document describes', async (t) => {
  const { catalog } = workplace(t, SCRIPT, DOCUMENT)
  const { out } = await run(['metrics', 'furnace', '--catalog', catalog, '-o', 'json'])
  const { metrics } = await loadCatalog({ folder: catalog })
  t.strictSame(JSON.parse(out)[0].spec.rows, metrics.get('furnace')?.rows)
})

t.test('collect writes the rows of the metric, and keeps lines that do not match', async (t) => {
  const { collect } = await furnaces(t)
  const { code, out, err } = await collect()
  t.equal(code, 0, err)
  const rows = linesOf(out).map((line) => JSON.parse(line))
  const ofPod2 = rows.filter(({ pod_index }) => pod_index === '2')
  t.match(ofPod2.slice(0, 4), [
    {
      kind: 'device',
      metric: 'furnace',
      section: 'zone',
      source: 'hpc/lammps-2-abcde/furnace',
      node: 'node-1',
      timepoint: 0,
      time: '2026-01-01T10:00:00.000Z',
      interval: 1,
      zone: 'top',
      heat: 60,
      joules: 0,
      flow: -1.5,
    },
    { zone: 'bottom' },
    { kind: 'interface', section: 'door', opened: 0, state: null },
    { kind: 'unmatched', text: 'the furnace hums', reason: 'it is not a JSON object' },
  ])
  t.match(ofPod2.at(-1), {
    kind: 'log',
    cuts: [],
    rows: { format: 'jsonl' },
    notices: [
      "1 line does not match the description of the metric's rows; " +
        'the first: it is not a JSON object',
      'the state of the door is secret',
    ],
  })
})

t.test('the CSV has the columns of the metric after the columns of io-sysstat', async (t) => {
  const { collect } = await furnaces(t)
  const { code, out } = await collect('-o', 'csv')
  t.equal(code, 0)
  const [header = '', ...lines] = linesOf(out)
  const names = header.split(',')
  const own = ['zone', 'heat', 'joules', 'flow', 'door', 'opened', 'state']
  const first = names.indexOf('zone')
  t.strictSame(names.slice(first, first + own.length), own)
  t.ok(first > names.indexOf('util'))
  const rows = lines.map((line) =>
    Object.fromEntries(line.split(',').map((cell, index) => [names[index], cell])),
  )
  const [hot] = rows.filter(
    ({ pod_index, zone, timepoint }) => `${pod_index}${zone}${timepoint}` === '2top1',
  )
  t.match(hot, { heat: '60', joules: '60', flow: '-1.6', opened: '', percent_cpu: '' })
})

t.test(
  'report needs the catalog for a log of the metric, but not for rows that collect has written',
  async (t) => {
    const { folder, catalog, collect, log } = await furnaces(t)
    const [rows, page] = [join(folder, 'rows.jsonl'), join(folder, 'page.html')]
    t.equal((await collect('--to', rows)).code, 0)
    t.equal((await run(['report', rows, '--to', page])).code, 0)
    const { sections, pods, notices } = dataOf(readFileSync(page, 'utf8'))
    t.strictSame(
      sections.map(({ title, rows, plots }) => [title, rows.length, plots.lines.length]),
      [
        ['furnace: zone', 10, 10],
        ['furnace: door', 5, 5],
      ],
    )
    t.strictSame(pods, PODS.map(String))
    t.match(notices.join('\n'), 'the state of the door is secret')
    const file = join(folder, 'furnace.log')
    writeFileSync(file, log)
    const { out, code } = await run(['report', file, '-o', 'html', '--catalog', catalog])
    t.equal(code, 0)
    t.strictSame(dataOf(out).sections[0]?.plots.measures, sections[0]?.plots.measures)
    const undescribed = await run(['report', file, '-o', 'html'])
    t.match(dataOf(undescribed.out).notices.join(), 'does not describe the rows of furnace')
  },
)

const BROWSER = { skip: existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed` }

t.test('the report draws the metric in a real browser', BROWSER, async (t) => {
  const { folder, collect } = await furnaces(t)
  const [rows, path] = [join(folder, 'rows.jsonl'), join(folder, 'page.html')]
  t.equal((await collect('--to', rows)).code, 0)
  t.equal((await run(['report', rows, '--to', path])).code, 0)
  const open = await browserOf(t)
  const { page, said, requests } = await open(path)
  t.strictSame(await page.locator('#topics h2').allInnerTexts(), ['furnace: zone', 'furnace: door'])
  t.strictSame(await page.locator('#section-0 .plot h3').allInnerTexts(), ['flow'])
  t.equal(
    await page.textContent('#section-0 .constant'),
    'Not plotted, because no line changes: heat (20 to 60 °C), joules (20 to 60 J/s).',
  )
  const plots = await coloursOf(page, '#topics .plot canvas')
  t.equal(plots.length, 1)
  for (const colours of plots) t.ok(colours > 10, `the plot has ${colours} colours`)
  t.equal(await page.locator('#summary').isVisible(), false, 'no process was observed')
  const marked = () =>
    page.$$eval('#section-0 tbody tr:has(td.out)', (all) =>
      all.map((row) => `${row.children[0]?.textContent} ${row.children[1]?.textContent}`),
    )
  t.strictSame(await marked(), ['2 bottom', '2 top'])
  await page.click('#section-0 thead button:text("heat, mean")')
  t.equal(await page.textContent('#section-0 tbody tr td'), '2', 'the hottest pod is first')
  await page.fill('#pods', '0-1')
  await until('four rows are shown', async () => {
    return (await page.locator('#section-0 tbody tr').count()) === 4
  })
  t.strictSame([said, requests], [[], []])
})

t.test('top shows the columns of the metric for each pod', async (t) => {
  const { top } = await furnaces(t)
  const all = await top()
  t.equal(all.code, 0, all.err)
  const [header, ...lines] = linesOf(all.out)
  t.match(
    header,
    /^POD {2}STATE {2}FINDING {2}heat °C {2}joules J\/s {2}flow {2}opened \/s {2}NODE$/,
  )
  t.match(lines[0], /^2 +ended +60\.0 +/, 'the pod with the highest heat is first')
  t.equal(lines.length, PODS.length)
  const words = ['--column', 'heat', '--sort', 'pod', '-o', 'json']
  const [first] = JSON.parse((await top(...words)).out).lines
  t.strictSame(Object.keys(first.values), ['heat'])
  const opened = JSON.parse((await top('--column', 'opened', '-o', 'json')).out).lines
  // The script counts one opening in each second.
  t.strictSame(
    opened.map(({ values }: { values: object }) => values),
    PODS.map(() => ({ opened: 1 })),
  )
  const wrong = await top('--column', 'percent_heat')
  t.equal(wrong.code, 2)
  t.match(wrong.err, /measures a column percent_heat; the columns are .*heat, joules/)
})

t.test('its rows are pushed over OTLP while it runs', observerTests(), async (t) => {
  const { catalog, script } = workplace(t, SCRIPT, DOCUMENT)
  const { endpoint, points } = await receive(t)
  const env = {
    ...(await exportTo('furnace', { endpoint, interval: 1 }, catalog)),
    POD_NAME: 'lammps-2-abcde',
    RIDEALONG_OWNER: 'Job/lammps',
    JOB_COMPLETION_INDEX: '2',
  }
  const log = await runObserver(script, 13, env, [observer('push')])
  t.match(log, /^METADATA START /)
  t.match(log, /METRICS OPERATOR COLLECTION END\n$/)
  const rows = linesOf(log).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const top = rows.findLast(({ zone }) => zone === 'top')
  const zone = { 'ridealong.pod.index': '2', 'ridealong.zone': 'top' }
  const resource = { 'service.name': 'lammps', 'k8s.pod.name': 'lammps-2-abcde' }
  const last = (name: string) =>
    points().findLast((point) => {
      return point.name === name && point.attributes['ridealong.zone'] !== 'bottom'
    })
  const opened = rows.findLast(({ door }) => door === 'front').opened
  // On a busy machine, the command may end before the receiver has read the last push.
  await until('the last rows arrive', () => {
    return last('ridealong.furnace.door.opened')?.value === opened
  })
  t.match(last('ridealong.furnace.zone.heat'), {
    ...{ kind: 'gauge', unit: 'Cel', value: 60, attributes: zone, resource },
  })
  t.match(last('ridealong.furnace.zone.joules'), { kind: 'counter', unit: 'J', value: top.joules })
  t.match(last('ridealong.furnace.zone.flow'), { kind: 'gauge', unit: '1', value: top.flow })
  t.match(last('ridealong.furnace.door.opened'), {
    ...{ kind: 'counter', value: opened, attributes: { 'ridealong.door': 'front' } },
  })
})

const PAGE = readFileSync(join(REPOSITORY, 'docs/metrics/own.md'), 'utf8')
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(PAGE)?.[1] ?? ''

t.test('report makes a page from a log of the metric in docs/metrics/own.md', async (t) => {
  const { catalog, folder, script } = workplace(t, blockOf('sh'), blockOf('yaml'))
  const log = await runObserver(script, 3, { RIDEALONG_OPTION_RATE: '1' })
  const file = join(folder, 'tcp.log')
  writeFileSync(file, log)
  const { code, out, err } = await run(['report', file, '-o', 'html', '--catalog', catalog])
  t.equal(code, 0, err)
  const { sections, notices, samples } = dataOf(out)
  t.strictSame(notices, [])
  t.ok(samples >= 3)
  t.match(sections, [{ title: 'tcp', plots: { lines: [{ marks: [false, false] }] } }])
  const [line] = sections[0]?.plots.lines ?? []
  t.ok(
    line?.values[0]?.some((value) => typeof value === 'number'),
    'at least one value is the number of sockets',
  )
})
