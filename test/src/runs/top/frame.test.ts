import t from 'tap'
import type { TopColumn } from '../../../../src/runs/top/columns.ts'
import { buildFrame, type FrameFacts, tableHeight } from '../../../../src/runs/top/frame.ts'
import { textWidth } from '../../../../src/runs/top/table.ts'
import { firstView } from '../../../../src/runs/top/view.ts'

const COLUMNS = ['a', 'b', 'c', 'd'].map(
  (key): TopColumn => ({
    key,
    title: `${key}-title`,
    metric: 'm',
    section: 's',
    column: { name: key, type: 'number', meaning: `the ${key}` },
    total: 'sum',
    factor: 1,
    unit: 'percent',
  }),
)

const LINES = Array.from({ length: 30 }, (_, pod) => ({
  label: `${pod}`,
  namespace: 'hpc',
  pod: `pod-${pod}`,
  node: '計算ノード',
  program: '計算'.repeat(pod),
  state: { is: 'running' } as const,
  findings: pod % 2 === 0 ? [] : ['throttled', 'swapping'],
  values: [1, 2, 3, pod],
}))

const facts = (more: Partial<FrameFacts> = {}): FrameFacts => ({
  heading: 'job/a in b',
  columns: COLUMNS,
  all: LINES,
  lines: LINES,
  view: firstView(COLUMNS, 'program', undefined),
  verdict: undefined,
  time: undefined,
  factors: [],
  alarms: [],
  notices: ['a notice', 'another notice'],
  ...more,
})

const textsOf = (shown: FrameFacts, rows: number, columns: number) =>
  buildFrame(shown, { rows, columns }, new Map()).map((line) =>
    line.map(({ text }) => text).join(''),
  )

const SIZES = [1, 2, 4, 7, 20, 45].flatMap((rows) =>
  [1, 9, 16, 40, 77, 90, 140].map((columns) => ({ rows, columns })),
)

const VERDICT = {
  verdict: 'Has taken 58 s so far on 2 pods. Efficiency 0.44: the work was uneven.',
  factors: [
    'Efficiency 0.44 = load balance 0.55 × communication 0.80',
    '  Load balance 0.55 = a × b',
  ],
}

const ALARMS = ['MPI ranks 0 and 1 wait in MPI_Allreduce '.repeat(5), 'another alarm']

for (const isHelp of [false, true]) {
  t.test(`a frame ${isHelp ? 'of the help ' : ''}fits into a terminal of any size`, async (t) => {
    const view = { ...firstView(COLUMNS, 'program', 'c'), isHelp }
    const shown = facts({ view, alarms: ALARMS, ...VERDICT })
    for (const { rows, columns } of SIZES) {
      const texts = textsOf(shown, rows, columns)
      t.equal(texts.length, rows)
      t.ok(Math.max(...texts.map(textWidth)) <= columns, `in ${rows} x ${columns}`)
    }
  })
}

t.test('the column by which lines are sorted is visible in a narrow terminal', async (t) => {
  for (const key of ['a', 'b', 'c', 'd']) {
    const shown = facts({ lines: LINES.slice(0, 3), view: firstView(COLUMNS, 'pod', key) })
    const [, , header = ''] = textsOf(shown, 10, 40)
    t.match(header, `${key}-title %▼`)
  }
  const wide = textsOf(facts({ lines: LINES.slice(0, 2) }), 10, 140)[2] ?? ''
  t.match(wide, /a-title .*b-title .*c-title .*d-title .*NODE/)
})

t.test('the table shows the first notice, and the help shows all notices', async (t) => {
  t.match(textsOf(facts(), 10, 140)[1], 'a notice (and 1 more: press ?)')
  const view = { ...firstView(COLUMNS, 'pod', undefined), isHelp: true }
  const help = textsOf(facts({ view }), 40, 140).join('\n')
  t.match(help, /a notice\nanother notice/)
  t.match(help, /b-title % {2}m: the b/)
})

t.test('the values of ended pods are said to be those of their last interval', async (t) => {
  const ended = LINES.map((line) => ({ ...line, state: { is: 'ended' } as const }))
  const orderOf = (lines: typeof ended | typeof LINES) =>
    textsOf(facts({ lines, all: lines, notices: [] }), 10, 90)[1]
  t.equal(orderOf(LINES), 'sorted by a-title %')
  t.equal(orderOf(ended), 'sorted by a-title %; ended pods have the values of their last interval')
})

t.test('the first alarm is above the table, and the help shows all alarms', async (t) => {
  const shown = textsOf(facts({ alarms: ALARMS }), 20, 80)
  t.match(shown.slice(1, 5), [
    /^MPI ranks 0/,
    /MPI_Allreduce/,
    /and 1 more: press \?\)$/,
    /^sorted/,
  ])
  t.equal(
    tableHeight(facts({ alarms: ALARMS }), { rows: 20, columns: 80 }),
    tableHeight(facts(), { rows: 17, columns: 80 }),
  )
  const view = { ...firstView(COLUMNS, 'pod', undefined), isHelp: true }
  t.match(textsOf(facts({ alarms: ALARMS, view }), 40, 300).join('\n'), /another alarm\na notice/)
})

t.test('the frame begins with how the run goes, as far as there is room', async (t) => {
  const shown = facts({ ...VERDICT, alarms: ['an alarm'] })
  t.strictSame(textsOf(shown, 24, 90).slice(1, 6), [
    'an alarm',
    ...[VERDICT.verdict, ...VERDICT.factors],
    'sorted by a-title %; a notice (and 1 more: press ?)',
  ])
  t.strictSame(
    textsOf(shown, 24, 40).slice(1, 7),
    [
      'an alarm',
      'Has taken 58 s so far on 2 pods.',
      'Efficiency 0.44: the work was uneven.',
      'Efficiency 0.44 = load balance 0.55 ×',
      'communication 0.80',
      '  Load balance 0.55 = a × b',
    ],
    'long lines are wrapped',
  )
  const low = textsOf(shown, 6, 90)
  t.strictSame(low.slice(1, 4), ['an alarm', VERDICT.verdict, VERDICT.factors[0]], 'a third of it')
})

t.test('where the time went is known before the efficiency, and follows it', async (t) => {
  const time = '62 s so far since its first pod was created: 62 s waiting to be scheduled.'
  t.strictSame(textsOf(facts({ time, factors: VERDICT.factors }), 24, 90).slice(1, 3), [
    time,
    'sorted by a-title %; a notice (and 1 more: press ?)',
  ])
  const all = textsOf(facts({ ...VERDICT, time }), 24, 90)
  t.strictSame(all.slice(1, 4), [VERDICT.verdict, time, VERDICT.factors[0]])
})

t.test('each line has the worst finding of its pod, and the help explains it', async (t) => {
  const [, , header = '', none, one] = textsOf(facts(), 10, 140)
  t.match(header, /STATE +FINDING/)
  t.notMatch(none, 'throttled')
  t.match(one, /running +throttled +1\.0/)
  t.notMatch(one, 'swapping')
  const view = { ...firstView(COLUMNS, 'pod', undefined), isHelp: true }
  t.match(
    textsOf(facts({ view }), 40, 140).join('\n'),
    /Findings\n {2}swapping +Swapping.*\n {2}throttled +Throttled/,
  )
})

t.test('columns keep their width when shorter lines are shown', async (t) => {
  const widths = new Map<string, number>()
  const size = { rows: 10, columns: 200 }
  const textAt = (from: number) =>
    buildFrame(facts({ lines: LINES.slice(from) }), size, widths)[2]
      ?.map(({ text }) => text)
      .join('')
  const wide = textAt(20)
  t.equal(textAt(0), wide)
})
