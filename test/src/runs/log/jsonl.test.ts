import t from 'tap'
import type { RowColumn, RowsDescription } from '../../../../src/core/catalog.ts'
import { listColumns, type Sample } from '../../../../src/runs/log/columns.ts'
import type { Descriptions } from '../../../../src/runs/log/descriptions.ts'
import { type Entry, isSample, type LogEntry } from '../../../../src/runs/log/entry.ts'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { readLines, readLog } from '../../../../src/runs/log/read.ts'
import { csvLines, jsonLines } from '../../../../src/runs/log/write.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

const NAME: RowColumn = { name: 'name', type: 'text', key: true, meaning: 'the name' }
const WATTS: RowColumn = {
  name: 'watts',
  type: 'number',
  unit: 'W',
  behavior: 'gauge',
  meaning: 'electric power',
}

const POWER: RowsDescription = {
  format: 'jsonl',
  sections: [{ name: 'power', of: 'pod', description: 'the pod', columns: [NAME, WATTS] }],
}
const FANS: RowsDescription = {
  format: 'jsonl',
  sections: [
    ...POWER.sections,
    {
      name: 'fans',
      of: 'device',
      description: 'the fans',
      columns: [{ name: 'rpm', type: 'number', unit: '1/s', behavior: 'gauge', meaning: 'speed' }],
    },
  ],
}

const DESCRIPTIONS: Descriptions = new Map([...BUILT_IN_ROWS, ['power', POWER], ['fans', FANS]])
const START = 'METRICS OPERATOR COLLECTION START\n'
const END = 'METRICS OPERATOR COLLECTION END\n'
const head = (metricOptions: object = {}) => {
  const metadata = JSON.stringify({ metricName: 'power', metricOptions })
  return `METADATA START ${metadata}\nMETADATA END\n`
}

const row = (second: number, cells: object) =>
  `${JSON.stringify({ time: `2026-01-01T12:00:${String(second).padStart(2, '0')}Z`, ...cells })}\n`

const read = (text: string, metric = 'power') => {
  const entries = readLog(text, { source: 'a', metric }, DESCRIPTIONS)
  const log = entries.at(-1) as LogEntry
  return { entries, rows: entries.filter(isSample), log, others: entries.slice(0, -1) }
}
const momentsIn = (rows: readonly Sample[]) =>
  rows.map(({ timepoint, seconds, interval, watts }) => [timepoint, seconds, interval, watts])

t.test('lines about raw files are no rows, unless they are wrong', async (t) => {
  const part = { file: 'a', part: 1, parts: 1, bytes: 1, crc32: '00000000', data: 'AAAA' }
  const artifacts = [part, { file: 'b', missing: 'no room' }]
  const lines = artifacts.map((artifact) => row(2, { artifact })).join('')
  const { entries, rows, log } = read(
    head() + START + row(1, { name: 'a', watts: 1 }) + lines + END,
  )
  t.equal(entries.length, 2)
  t.match(rows, [{ name: 'a' }])
  t.match(log, { timepoints: 1, notices: [], cuts: [] })
  const wrong = row(1, { artifact: { ...part, file: '../a' } }) + row(1, { artifact: 'a' })
  const { others } = read(head() + START + wrong + END)
  t.match(others, [
    { kind: 'unmatched', reason: /^artifact: file must have 1 to 128 letters/ },
    { kind: 'unmatched', reason: 'section power has no column "artifact"' },
  ])
})

t.test('a line of JSON is a row of the section that the catalog describes', async (t) => {
  const lines = row(1, { name: 'a', watts: -2.5 }) + row(3, { watts: null })
  const text = head() + START + lines + END
  const { rows, log } = read(text)
  t.match(rows, [
    { kind: 'pod', metric: 'power', section: 'power', name: 'a', watts: -2.5 },
    { kind: 'pod', name: null, watts: null, time: '2026-01-01T12:00:03.000Z' },
  ])
  t.match(log, { kind: 'log', metric: 'power', timepoints: 2, rows: POWER })
  t.strictSame([log.cuts, log.notices], [[], []])
})

t.test('rows of the same time are one timepoint, with or without markers', async (t) => {
  const [one, two] = [row(1, { watts: 1 }) + row(1, { watts: 2 }), row(4, { watts: 3 })]
  const marker = 'METRICS OPERATOR TIMEPOINT\n'
  for (const lines of [one + two, marker + one + marker + two, marker + one + two]) {
    const { rows, log } = read(`${head({ rate: 5 })}${START}${lines}${END}`)
    t.strictSame(momentsIn(rows), [
      [0, 0, 5, 1],
      [0, 0, 5, 2],
      [1, 3, 3, 3],
    ])
    t.equal(log.timepoints, 2)
  }
})

t.test('an interval is measured within a section, and null if the time goes back', async (t) => {
  const lines = [
    row(1, { section: 'power', watts: 1 }),
    row(2, { section: 'fans', rpm: 9 }),
    row(3, { section: 'power', watts: 2 }),
    row(9, { section: 'fans', rpm: 8 }),
    row(5, { section: 'fans', rpm: 7 }),
  ]
  const { rows } = read(`${START}${lines.join('')}${END}`, 'fans')
  t.strictSame(
    rows.map(({ section, kind, interval }) => [section, kind, interval]),
    [
      ['power', 'pod', null],
      ['fans', 'device', null],
      ['power', 'pod', 2],
      ['fans', 'device', 7],
      ['fans', 'device', null],
    ],
  )
})

t.test('a row can give its own interval', async (t) => {
  const lines = [
    row(1, { watts: 1, interval: 0.5 }) + row(1, { watts: 2 }),
    row(4, { watts: 3, interval: 2.5 }) + row(4, { watts: 4, interval: null }),
  ]
  const { rows, log } = read(`${head({ rate: 5 })}${START}${lines.join('')}${END}`)
  t.strictSame(momentsIn(rows), [
    [0, 0, 0.5, 1],
    [0, 0, 5, 2],
    [1, 3, 2.5, 3],
    [1, 3, 3, 4],
  ])
  t.strictSame(log.notices, [])
})

t.test('the first rates are about an unknown time, unless their rows give it', async (t) => {
  const lines = row(1, { rpm: 9 }) + row(1, { rpm: 8, interval: 0.5 }) + row(3, { rpm: 7 })
  const text = `${head({ rate: 5 })}${START}${lines.replaceAll('}', ',"section":"fans"}')}${END}`
  t.strictSame(
    read(text, 'fans').rows.map(({ interval }) => interval),
    [null, 0.5, 2],
  )
})

t.test('a log without metadata is complete if it has its start marker', async (t) => {
  const lines = row(1, { watts: 1 })
  t.strictSame(read(`${START}${lines}${END}`).log.cuts, [])
  const { rows, log } = read(`tts":7}\n${lines}${END}`)
  t.equal(rows.length, 1)
  t.strictSame(log.cuts, ['its head is missing'])
})

/** Lines that are not rows of the metric fans, and the beginning of each reason. */
const WRONG: readonly (readonly [string, string])[] = [
  ['watts 80', 'it is not a JSON object'],
  ['[1]', 'it is not a JSON object'],
  ['{"watts":80', 'it is not a JSON object'],
  ['{"section":"fans"}', 'its time is not a date and time such as 2026-01-31T10:00:00.123Z'],
  ['{"time":"noon","section":"fans"}', 'its time is not a date and time such as'],
  ['{"time":"2026-13-31T10:00:00Z","section":"fans"}', 'its time is not a date and time such as'],
  ['{"time":"2026-01-01T10:00:00Z"}', 'it names no section; the sections are power, fans'],
  [
    '{"time":"2026-01-01T10:00:00Z","section":"x"}',
    'its section is "x"; the sections are power, fans',
  ],
  [
    '{"time":"2026-01-01T10:00:00Z","section":"fans","watts":1}',
    'section fans has no column "watts"',
  ],
  [
    '{"time":"2026-01-01T10:00:00Z","section":"fans","constructor":1}',
    'section fans has no column "constructor"',
  ],
  [
    '{"time":"2026-01-01T10:00:00Z","section":"fans","rpm":"1"}',
    'column rpm must be a number or null',
  ],
  [
    '{"time":"2026-01-01T10:00:00Z","section":"power","name":1}',
    'column name must be a string or null',
  ],
]

t.test('a line that does not match the description is kept with the reason', async (t) => {
  for (const [line, reason] of WRONG) {
    const good = row(1, { section: 'fans', rpm: 1 })
    const { others, rows, log } = read(`${START}${good}${line}\n${good}${END}`, 'fans')
    t.equal(rows.length, 2, line)
    const [, unmatched] = others
    t.match(unmatched, { kind: 'unmatched', source: 'a', metric: 'fans', text: line })
    t.ok(unmatched?.kind === 'unmatched' && unmatched.reason.startsWith(reason), line)
    t.match(log.notices, [
      /^1 line does not match the description of the metric's rows; the first: /,
    ])
    t.strictSame(log.cuts, [], line)
  }
})

t.test('fields that the description lacks are ignored, and named once', async (t) => {
  const cells = { heat: 300, watts: 1, 'two words': [1] }
  const lines = row(1, cells) + row(2, { name: 'a' }) + row(3, { watts: 3, heat: null })
  const { rows, others, log } = read(head() + START + lines + END)
  t.strictSame(
    rows.map((sample) => [sample.name, sample.watts, sample.heat]),
    [
      [null, 1, undefined],
      ['a', null, undefined],
      [null, 3, undefined],
    ],
  )
  t.equal(others.length, 3)
  t.strictSame(log.notices, [
    'the description of the rows has no column for these fields, which are ignored: ' +
      '"heat" of power, "two words" of power',
  ])
})

t.test('of the fields that are ignored, only the first are named', async (t) => {
  const fields = Array.from({ length: 5000 }, (_, field) => [`field-${field}`, 1])
  const { log } = read(START + row(1, { watts: 1, ...Object.fromEntries(fields) }) + END)
  t.match(log.notices, [
    /: "field-0" of power, "field-1" of power, "field-2" of power and 13 more$/,
  ])
})

t.test('at most 1,000 lines that do not match are kept, cut to 1,000 characters', async (t) => {
  const { others, log } = read(`${START}${`${'x'.repeat(5000)}\n`.repeat(1500)}${END}`)
  t.equal(others.length, 1000)
  t.ok(others.every((entry) => entry.kind === 'unmatched' && entry.text.length === 1000))
  const notice = /^1500 lines do not match .* \(only the first 1000 are kept\); the first: /
  t.match(log.notices, [notice])
})

t.test('the messages of an observer become notices of the log', async (t) => {
  const notice = row(1, { notice: 'cgroup v1 has no pressure' })
  const text = `${START}${notice}${notice}ridealong: 3 are left out\n${row(1, { watts: 1 })}${END}`
  const { others, log } = read(text)
  t.equal(others.length, 1)
  t.strictSame(log.notices, ['cgroup v1 has no pressure', '3 are left out'])
})

t.test('a log that is cut anywhere is read up to the cut and reported as cut', async (t) => {
  const whole = head() + START + row(1, { watts: 1 }) + row(2, { watts: 22 }) + END
  t.strictSame(read(whole).log.cuts, [])
  for (let at = 0; at < whole.length - 1; at++) {
    const { log, others } = read(whole.slice(0, at))
    t.not(log.cuts.length, 0, `cut before byte ${at}`)
    t.ok(
      others.every((entry) => entry.kind === 'pod' && [1, 22].includes(Number(entry.watts))),
      `cut before byte ${at}`,
    )
  }
  t.match(read(whole.slice(0, -END.length - 5)).log.cuts, ['its last row is cut', /^its end is/])
})

t.test('a row is returned as soon as its line is read', async (t) => {
  const reader = readLines({ source: 'a', metric: 'power' }, DESCRIPTIONS)
  t.strictSame(reader.push(START.trim()), [])
  t.match(reader.push(row(1, { watts: 1 }).trim()), [{ watts: 1, timepoint: 0 }])
})

t.test('collected rows are read again unchanged, even without a catalog', async (t) => {
  const lines = row(1, { name: '=a', watts: -1 }) + row(2, { watts: null })
  const { entries } = read(`${head()}${START}${lines}nonsense\n${END}`)
  const written = jsonLines(entries).trimEnd().split('\n')
  for (const known of [DESCRIPTIONS, new Map()])
    t.strictSame(
      written.map((line) => parseEntry(line, known)),
      entries,
    )
})

t.test('rows of functions and of stacks keep their kinds', async (t) => {
  const main = row(1, { section: 'function', function: 'main', samples_self: 1 })
  const stack = row(1, { section: 'stack', stack: '_start;main', samples: 1 })
  const { entries } = read(`${START}${main}${stack}${END}`, 'cpu-profile')
  const rows = entries.filter(isSample)
  t.match(rows, [
    { kind: 'function', function: 'main', samples_self: 1, samples_total: null },
    { kind: 'stack', stack: '_start;main', samples: 1 },
  ])
  const written = jsonLines(rows).trimEnd().split('\n')
  t.strictSame(
    written.map((line) => parseEntry(line, BUILT_IN_ROWS)),
    rows,
  )
})

t.test('the description in a collected log is checked before it is used', async (t) => {
  const line = { kind: 'log', source: 'a', metric: 'power' }
  const rowsOf = (rows: unknown) => {
    const entry = parseEntry(JSON.stringify({ ...line, rows }), BUILT_IN_ROWS)
    return (entry as LogEntry).rows
  }
  t.strictSame(rowsOf(POWER), POWER)
  t.equal(rowsOf(undefined), null, 'without a description')
  t.equal(rowsOf({ ...POWER, format: 'x' }), null)
  t.equal(rowsOf({ ...POWER, sections: [...POWER.sections, ...POWER.sections] }), null)
})

t.test('a row of any metric is a row of the CSV', async (t) => {
  const columns = [...listColumns(DESCRIPTIONS).keys()]
  const { entries } = read(`${START}${row(1, { name: '=a', watts: -1 })}nonsense\n${END}`)
  const lines = csvLines(entries as readonly Entry[], columns)
    .trimEnd()
    .split('\n')
  t.equal(lines.length, 1, 'a line that does not match the description is not a row')
  const cells = Object.fromEntries(
    lines[0]?.split(',').map((cell, index) => [columns[index], cell]) ?? [],
  )
  t.match(cells, { kind: 'pod', section: 'power', name: "'=a", watts: '-1', percent_cpu: '' })
})
