import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { textOf } from '../../../docs/pages.ts'
import { onPath } from '../../../observers/prerequisites.ts'
import { environment } from '../../../tools/mpi/environment.ts'
import {
  type GeneratedRun,
  generatedRun,
  PODS,
  REQUESTED,
  SLOW,
  writeArchive,
} from './many-runs.ts'

// The questions of the documentation, on an archive of 1,000 runs. `npm run test:engines` runs this
// file, and npm test does not: PySpark has 300 MB, and Spark needs a JRE.

const PROGRAM = fileURLToPath(new URL('questions.py', import.meta.url))
const RUNS = Array.from({ length: 1000 }, (_, index) => generatedRun(index))

/** The parts of the documentation: the views of DuckDB, those of Spark, and the questions. */
const PAGE = textOf('docs/examples/questions.md')
const BLOCKS = [...PAGE.matchAll(/^```(?:sql|python)\n(.*?)^```$/gms)].map(([, text = '']) => text)
const [DUCKDB = '', SPARK = '', ...QUESTIONS] = BLOCKS

type Answer = readonly (readonly (string | number)[])[]

/** Returns the answers of an engine, with numbers to six significant digits. */
function ask(engine: 'duckdb' | 'spark', views: string, folder: string): readonly Answer[] {
  const python = `${environment('engines', 'duckdb==2.0.1', 'pyspark==3.5.3')}/bin/python3`
  const asked = { engine, views: views.replaceAll('/rows', folder), questions: QUESTIONS }
  const out = execFileSync(python, [PROGRAM, JSON.stringify(asked)], { encoding: 'utf8' })
  return rounded(JSON.parse(out))
}

function rounded(answers: readonly Answer[]): readonly Answer[] {
  const round = (value: string | number) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value
  return answers.map((answer) => answer.map((row) => row.map(round)))
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** The most wasteful workloads, computed from the generated runs. */
function wasteful(): Answer {
  return worst(({ cpu, seconds }) => REQUESTED * seconds - cpu)
}

/** The workloads that waited longest for images. */
function pulling(): Answer {
  return worst((run) => PODS * run.pulling)
}

function worst(secondsOf: (run: GeneratedRun) => number): Answer {
  const groups = Map.groupBy(RUNS, ({ namespace, workload }) => `${namespace} job/${workload}`)
  return [...groups]
    .map(
      ([key, runs]) => [...key.split(' '), runs.length, sum(runs.map(secondsOf)) / 3600] as const,
    )
    .sort((a, b) => Number(b[3]) - Number(a[3]) || (String(a) < String(b) ? -1 : 1))
    .slice(0, 10)
}

function byImage(): Answer {
  const part = (runs: readonly GeneratedRun[]) =>
    sum(runs.map(({ cpu }) => cpu)) / sum(runs.map(({ seconds }) => REQUESTED * seconds))
  return [...Map.groupBy(RUNS, ({ image }) => image)]
    .map(([image, runs]) => [image, runs.length, part(runs)] as const)
    .sort((a, b) => a[2] - b[2])
}

function late(): Answer {
  const times = new Map<string, readonly number[]>()
  for (const { namespace, nodes, inMpi } of RUNS) {
    if (namespace !== 'hpc') continue
    const least = Math.min(...inMpi)
    const node = nodes[inMpi.indexOf(least)] ?? ''
    const waited = sum(inMpi) / inMpi.length - least
    times.set(node, [...(times.get(node) ?? []), waited, waited, waited])
  }
  return [...times]
    .map(([node, waits]) => [node, waits.length, sum(waits)] as const)
    .sort((a, b) => b[2] - a[2])
}

const skip = onPath('java') === 'java' ? 'needs java, such as Debian default-jre-headless' : false

t.setTimeout(600_000)

t.test('DuckDB and Spark answer the documented questions', { skip }, async (t) => {
  t.equal(QUESTIONS.length, 4)
  const folder = t.testdir({})
  await writeArchive(folder, RUNS)
  t.equal(late()[0]?.[0], SLOW, 'the others wait longest for the slow node')
  const expected = rounded([wasteful(), pulling(), byImage(), late()])
  t.strictSame(ask('duckdb', DUCKDB, folder), expected, 'DuckDB')
  t.strictSame(ask('spark', SPARK, folder), expected, 'Spark')
})
