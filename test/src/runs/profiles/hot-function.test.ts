import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { readLog } from '../../../../src/runs/log/read.ts'
import { findHotFunction } from '../../../../src/runs/profiles/hot-function.ts'
import { reportModel } from '../../../../src/runs/report/data.ts'
import { findingsDocument } from '../../../../src/runs/report/document/findings-document.ts'
import { formatReport } from '../../../../src/runs/report/first-screen/text.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { renderPage } from '../../../../src/runs/report/page.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import { profileRows } from '../metrics/python-profile/python-rows.ts'
import { profileLines } from '../report/tools/profile-rows.ts'

/** Reads the recorded logs of a folder of test/logs whose names match. */
function recordedRun(folder: string, names: RegExp) {
  const place = new URL(`../../../logs/${folder}/`, import.meta.url)
  const run = newRun(BUILT_IN_ROWS)
  for (const source of readdirSync(place).filter((name) => names.test(name)))
    for (const entry of readLog(
      readFileSync(new URL(source, place), 'utf8'),
      { source },
      BUILT_IN_ROWS,
    ))
      addEntry(run, entry)
  return run
}

const RECORDED: readonly (readonly [folder: string, names: RegExp, sentence: string])[] = [
  [
    'profiles',
    /\.log$/,
    'The function LAMMPS_NS::PairLJCut::compute of lmp used 78 % of the processor time that ' +
      'cpu-profile recorded (15.6 s of 19.9 s, all profiled processes together).',
  ],
  [
    'all-metrics',
    /cpu-profile/,
    'The function LAMMPS_NS::PairLJCut::compute of lmp used 51 % of the processor time outside ' +
      'of MPI that cpu-profile recorded (2.25 s of 4.38 s, all profiled processes together).',
  ],
  [
    'nccl-python',
    /python-profile/,
    'The main thread of train.py waited in load_batch (/tmp/rec/app/data.py:6) for 99 % of the ' +
      'time that python-profile recorded (106 s of 106 s, all profiled processes together).',
  ],
]

for (const [folder, names, sentence] of RECORDED)
  t.test(`text, page and JSON of ${folder} name the hot function`, async (t) => {
    const model = reportModel(recordedRun(folder, names), 'auto')
    t.equal(formatReport('title', model)[2], sentence, 'after the verdict')
    t.equal(findingsDocument(model, 'title').hotFunction?.sentence, sentence)
    const asset = { text: '', sha256: '' }
    const more = { title: 'title', pods: [], generator: '', style: asset, script: asset }
    const page = [...renderPage({ ...more, data: model.page })].join('')
    t.match(page, new RegExp(`<p id="verdict">.*</p>\n<p id="hot">${escaped(sentence)}</p>`))
  })

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Returns the hot function of a program with these stacks, in seconds. */
function hotIn(stacks: Readonly<Record<string, number>>) {
  return hotInLines(profileLines('0', { stacks }))
}

function hotInLines(lines: readonly string[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const line of lines) {
    const entry = parseEntry(line, BUILT_IN_ROWS)
    if (entry !== undefined) addEntry(run, entry)
  }
  return findHotFunction([...run.evidence.profiles.values()])
}

t.test('a function below 40 % of the time is not named', async (t) => {
  t.match(hotIn({ 'main;solve': 4, 'main;read': 3, 'main;write': 3 }), { name: 'solve' })
  t.equal(hotIn({ 'main;solve': 3.9, 'main;read': 3.1, 'main;write': 3 }), null)
})

t.test('time in MPI is no computing, and neither are functions without a name', async (t) => {
  const inMpi = { 'main;MPI_Recv;poll': 20, 'main;PMPI_Wait;poll': 9 }
  t.match(hotIn({ ...inMpi, 'main;solve': 6, main: 4 }), { name: 'solve', seconds: 6, of: 10 })
  t.equal(hotIn({ 'main;[libc.so.6]': 6, '(other)': 3, 'main;solve': 1 }), null)
})

t.test('a profile of less than a second names no function', async (t) => {
  t.equal(hotIn({ 'main;solve': 0.9 }), null)
})

/** Returns the rows of the main thread of a program of Python that was in one function. */
function pythonLines(program: string, stack: string, wall: number, running = 0) {
  const rows = profileRows({ index: '0', stack, wall, running })
  return rows.map((row) => JSON.stringify({ ...row, program }))
}

const LAUNCHER = pythonLines('run.py', 'main (run.py:9);_try_wait (subprocess.py:2011)', 100, 0.4)

t.test('a launcher that waits is not named beside a program that computes', async (t) => {
  const stacks = { 'main;PairLJCut::compute': 312, 'main;Neighbor::build': 88 }
  const hot = hotInLines([...LAUNCHER, ...profileLines('0', { stacks })])
  t.match(hot, { name: 'PairLJCut::compute', program: 'lmp', kind: 'processor', of: 400 })
})

t.test('a launcher that waits is not named beside a program of Python that runs', async (t) => {
  const trains = pythonLines('train.py', 'main (train.py:60);step (train.py:12)', 100, 98)
  const hot = hotInLines([...LAUNCHER, ...trains])
  t.match(hot, { name: 'step (train.py:12)', program: 'train.py', kind: 'running', of: 98 })
})

t.test('a program of Python that waits is named, although a processor is used', async (t) => {
  const waits = pythonLines('train.py', 'main (train.py:60);load (data.py:6)', 100, 4)
  const hot = hotInLines([...LAUNCHER, ...waits, ...profileLines('0', { stacks: { read: 4 } })])
  t.match(hot, { name: 'load (data.py:6)', program: 'train.py', kind: 'waiting', of: 100 })
})
