/**
 * Counts the files that one row of each metric enters, from the line of the log to the data of the
 * report: `npm run lint:rows [-- METRIC...]`. It prints, for each metric, the number of files, the
 * largest number of times that one of them is entered, and the files. The row is one of a thing
 * that had a row before. Entering a file is a call from another file; the same call again, in a
 * loop, is not counted, and neither are the files that any code may use (`VOCABULARY`).
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { RowColumn, RowsDescription } from '../../../src/core/catalog.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')
const VOCABULARY = /^src\/(lib|core\/text)\/|^src\/core\/kubernetes\/json\.ts$/
const MAX_FILES = 10
const MAX_ENTRIES = 3

/** A function that was called, below its caller. */
interface Call {
  readonly file: string
  readonly caller: Call | undefined
  readonly callees: Map<string, Call>
}

let current: Call = newCall('', undefined)

function newCall(file: string, caller: Call | undefined): Call {
  return { file, caller, callees: new Map() }
}

Object.assign(globalThis, {
  enterFunction(file: string, place: number) {
    const key = `${file}:${place}`
    const call = current.callees.get(key) ?? newCall(file, current)
    current.callees.set(key, call)
    current = call
  },
  leaveFunction() {
    current = current.caller ?? current
  },
})

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.startsWith('file:') || !/\.ts$/.test(url)) return loaded
    const path = fileURLToPath(url).slice(REPOSITORY.length + 1)
    if (!path.startsWith('src/')) return loaded
    return { ...loaded, source: reportCalls(path, String(loaded.source)) }
  },
})

/** A text that is added to a module. */
type Insertion = readonly [at: number, text: string]

/** Adds calls to the beginning and the end of each function. Generators run in parts. */
function reportCalls(path: string, text: string): string {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const inserted: Insertion[] = []
  const visit = (node: ts.Node) => {
    ts.forEachChild(node, visit)
    const body = bodyOf(node)
    if (body !== undefined) inserted.push(...wrap(path, body, body.getStart(source)))
  }
  visit(source)
  const sorted = inserted.toReversed().sort(([one], [other]) => other - one)
  return sorted.reduce((code, [at, what]) => code.slice(0, at) + what + code.slice(at), text)
}

function bodyOf(node: ts.Node): ts.Node | undefined {
  if (ts.isArrowFunction(node)) return node.body
  const isNamed = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)
  if (!isNamed && !ts.isFunctionExpression(node)) return undefined
  return node.asteriskToken === undefined ? node.body : undefined
}

function wrap(path: string, body: ts.Node, start: number): readonly Insertion[] {
  const enter = `globalThis.enterFunction(${JSON.stringify(path)}, ${start});try{`
  const leave = '}finally{globalThis.leaveFunction()}'
  if (ts.isBlock(body)) {
    return [
      [start + 1, enter],
      [body.end - 1, leave],
    ]
  }
  return [
    [start, `{${enter}return (`],
    [body.end, `)${leave}}`],
  ]
}

const { loadCatalog } = await import('../../../src/catalog/load.ts')
const { descriptionsIn } = await import('../../../src/runs/log/descriptions.ts')
const { readLines } = await import('../../../src/runs/log/read.ts')
const { addEntry, newRun } = await import('../../../src/runs/report/gather.ts')

const DESCRIPTIONS = descriptionsIn(await loadCatalog({}))

/** Recorded logs of the metrics whose rows are not JSON Lines. */
const RECORDED: Readonly<Record<string, string>> = {
  'perf-sysstat': 'test/logs/all-metrics/lammps-0.perf-sysstat.log',
  'io-sysstat': 'test/logs/all-metrics/lammps-0.io-sysstat.log',
}

function linesOf(metric: string, { sections }: RowsDescription): readonly string[] {
  const recorded = RECORDED[metric]
  if (recorded !== undefined) return readFileSync(join(REPOSITORY, recorded), 'utf8').split('\n')
  const rows = [0, 1, 2].flatMap((time) =>
    sections.map(({ name, columns }) => {
      const cells = columns.map((column) => [column.name, cellOf(column, time)])
      const moment = `2026-01-01T00:00:0${time}.000Z`
      return JSON.stringify({ time: moment, section: name, ...Object.fromEntries(cells) })
    }),
  )
  const metadata = JSON.stringify({ pods: 1, metricName: metric })
  const start = [`METADATA START ${metadata}`, 'METADATA END', 'METRICS OPERATOR COLLECTION START']
  return [...start, ...rows]
}

function cellOf({ name, type, key }: RowColumn, time: number): string | number {
  if (name === 'stack') return 'main (a.py:1);step (a.py:2)'
  if (type === 'text') return name
  return key ? 1 : time + 1
}

/** A row, and how often its way entered each file. */
interface Visit {
  readonly section: string
  readonly files: ReadonlyMap<string, number>
}

/** Adds the rows of a metric to a report, and returns what the first row of each line entered. */
function visitsOf(metric: string, description: RowsDescription): readonly Visit[] {
  const run = newRun(DESCRIPTIONS)
  const reader = readLines({ source: 'pod/container', metric }, DESCRIPTIONS)
  return linesOf(metric, description).flatMap((line) => {
    current = newCall('', undefined)
    const root = current
    const [first, ...others] = reader.push(line)
    if (first === undefined) return []
    addEntry(run, first)
    const files = new Map<string, number>()
    countEntries(root, '', files)
    for (const entry of others) addEntry(run, entry)
    return [{ section: 'section' in first ? String(first.section) : first.kind, files }]
  })
}

/** Counts the calls from other files. What a file of the vocabulary calls, its caller calls. */
function countEntries(call: Call, from: string, counts: Map<string, number>): void {
  const file = VOCABULARY.test(call.file) ? from : call.file
  if (file !== from) counts.set(file, (counts.get(file) ?? 0) + 1)
  for (const callee of call.callees.values()) countEntries(callee, file, counts)
}

/** Returns the visit of most files, of rows that are not the first of their section. */
function longestOf(visits: readonly Visit[]): ReadonlyMap<string, number> {
  const later = [...Map.groupBy(visits, ({ section }) => section).values()].flatMap((own) =>
    own.slice(1).map(({ files }) => files),
  )
  return later.reduce((most, files) => (files.size > most.size ? files : most))
}

const wanted = process.argv.slice(2)
const found = [...DESCRIPTIONS].filter(([name]) => wanted.length === 0 || wanted.includes(name))
for (const [metric, description] of found) {
  const visits = [...longestOf(visitsOf(metric, description))]
  const most = Math.max(...visits.map(([, count]) => count))
  if (visits.length > MAX_FILES || most > MAX_ENTRIES) process.exitCode = 1
  process.stdout.write(`${metric}: ${visits.length} files, one entered ${most} times\n`)
  for (const [file, count] of visits) process.stdout.write(`  ${count} ${file}\n`)
}
