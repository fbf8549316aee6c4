import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { rounded } from '../../../../../src/lib/round.ts'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { pageData } from '../../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { documentOf } from '../document-of.ts'

// The page and the JSON come from one model. These tests fail if the page shows something that the
// JSON lacks.

/** Reads the logs of a run that was recorded with all metrics. */
function readRun() {
  const folder = new URL('../../../../logs/all-metrics/', import.meta.url)
  const run = newRun(BUILT_IN_ROWS)
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.log'))) {
    const text = readFileSync(new URL(name, folder), 'utf8')
    for (const entry of readLog(text, { source: name }, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return run
}

const PLOTS = ['measures', 'lines', 'omitted']
/** The fields of the page by their path; the JSON has all of them. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['pods', 'programs', 'duration', 'samples', 'logs', 'unit', 'notices', 'findings'],
    ...['columns', 'rows', 'omittedRows', 'plots', 'devices', 'idleDevices', 'sections'],
    ...['profiles', 'mpi', 'verdict', 'factors', 'unknown', 'time', 'advice', 'activity'],
  ],
  activity: ['basis', 'buckets', 'means', 'lines'],
  'activity.lines': ['name', 'count', 'percents', 'means'],
  plots: ['grid', ...PLOTS],
  'plots.grid': ['buckets', 'width', 'isDownsampled'],
  'plots.lines': ['pod', 'program', 'pid', 'values', 'marks'],
  rows: ['pod', 'program', 'values', 'marks'],
  sections: [
    ...['metric', 'section', 'title', 'description', 'columns', 'rows', 'omittedRows', 'plots'],
    ...['isMerged', 'topic'],
  ],
  profiles: ['programs', 'omitted', 'hot'],
  'profiles.hot': ['name', 'program', 'kind', 'seconds', 'of', 'sentence'],
  'profiles.programs': [
    ...['program', 'kind', 'pods', 'seconds', 'flame', 'functions', 'differences'],
    ...['omittedDifferences', 'incomplete', 'incompleteCount'],
  ],
  'profiles.programs.flame': ['names', 'parents', 'functions', 'seconds', 'single'],
  'profiles.programs.functions': ['rows', 'omitted'],
  'profiles.programs.functions.rows': ['name', 'library', 'self', 'total', 'outliers'],
  mpi: ['jobs', 'omitted'],
  'mpi.jobs': [
    ...['job', 'size', 'problem', 'columns', 'rows', 'omitted', 'calls', 'omittedCalls'],
  ],
  'mpi.jobs.rows': ['pod', 'program', 'mpiRank', 'values', 'marks'],
  'mpi.jobs.calls': ['call', 'calls', 'seconds', 'percent', 'spread', 'longestMs', 'bytes'],
}

/** Returns the names of the fields at a path; lists are entered. */
function fieldsAt(value: unknown, path: readonly string[]): readonly string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => fieldsAt(one, path)))]
  if (typeof value !== 'object' || value === null) return []
  const [name, ...rest] = path
  if (name === undefined) return Object.keys(value)
  return fieldsAt((value as Record<string, unknown>)[name], rest)
}

/** Returns all numbers and texts of a value. */
function scalarsIn(value: unknown): readonly (number | string)[] {
  if (typeof value === 'number' || typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(scalarsIn)
}

const run = readRun()
const page = pageData(run, 'auto')
const document = documentOf(run, 'recorded')

t.test('the page has no field that this test does not know', async (t) => {
  for (const [path, names] of Object.entries(FIELDS)) {
    const found = fieldsAt(page, path === '' ? [] : path.split('.'))
    t.strictSame([...found].sort(), [...names].sort(), `${path}: add new fields to the JSON too`)
  }
})

t.test('all numbers and texts of the page are in the JSON', async (t) => {
  const known = new Set(scalarsIn(document))
  const { findings: _, rows: __, factors, ...rest } = page
  // The root of the stacks is no function; its index is -1 in the page, and null in the JSON.
  const missing = scalarsIn(rest).filter((one) => one !== '' && one !== -1 && !known.has(one))
  t.strictSame([...new Set(missing)], [])
  const inJson = document.efficiency.factors.map(({ title, value }) => ({ title, value }))
  t.strictSame(
    factors.map(({ title, value }) => ({ title, value: rounded(value) })),
    inJson,
  )
})

t.test('the values over time of a section are in the JSON', async (t) => {
  const section = document.sections.find((one) => one.section === 'container')
  const plotted = page.sections.find((one) => one.section === 'container')
  const [line] = section?.over_time.lines ?? []
  const index = plotted?.plots.measures.findIndex(({ key }) => key === 'cpu_usage') ?? -1
  const values = plotted?.plots.lines[0]?.values[index]
  t.ok(values?.some((value) => typeof value === 'number' && value > 0))
  t.strictSame(
    line?.values.cpu_usage,
    values?.map((value) => (value === '' ? null : value)),
  )
})
