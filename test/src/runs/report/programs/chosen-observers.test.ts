import { readFileSync } from 'node:fs'
import t from 'tap'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { pageData } from '../../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { documentOf } from '../document-of.ts'

/** The name of an observer, the name of its log, and its text. */
type Log = readonly [observer: string, name: string, text: string]

/** Reads a log of each observer. All logs are of one pod. */
function runOf(logs: readonly Log[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const [observer, name, text] of logs) {
    const source = `hpc/lammps-0/${observer}-${name}`
    const place = { source, namespace: 'hpc', pod: 'lammps-0', pod_index: '0' }
    for (const entry of readLog(text, place, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return run
}

/** Makes the log that of another observer, which began a second later. */
function later(text: string): string {
  return text.replace(/"started":"([^"]*)"/, (_, time) => {
    return `"started":"${new Date(Date.parse(time) + 1000).toISOString()}"`
  })
}

const recorded = (path: string) =>
  readFileSync(new URL(`../../../../logs/${path}`, import.meta.url), 'utf8')

/** Returns all that the page and the JSON show, except for numbers, names and notices of logs. */
function shownOf(logs: readonly Log[]) {
  const withoutLogs = <Shown extends object>(shown: Shown) => {
    return { ...shown, samples: null, logs: null, notices: null }
  }
  const document = documentOf(runOf(logs), 'test')
  const page = pageData(runOf(logs), 'process')
  const pods = document.pods.map(({ programs, ...pod }) => {
    return { ...pod, programs: programs.map(({ sources: _, ...numbers }) => numbers) }
  })
  return { document: withoutLogs({ ...document, pods }), page: withoutLogs(page) }
}

t.test('two observers of one metric in a pod show what one of them shows', async (t) => {
  const metrics = ['perf-sysstat', 'pressure']
  for (const kind of ['lammps', 'throttled', 'crowded', 'memory', 'storage', 'healthy']) {
    const texts = metrics.map((name) => [name, recorded(`findings/${name}-${kind}.log`)] as const)
    const injected = texts.map(([name, text]): Log => ['injected', name, text])
    const attached = texts.map(([name, text]): Log => ['attached', name, later(text)])
    t.strictSame(shownOf([...injected, ...attached]), shownOf(injected), kind)
  }
})

t.test('profiles and calls of MPI of two observers are not added up', async (t) => {
  const files = ['profiles/cpu-profile-lammps-0.log', 'mpi/mpi-trace-imbalanced-0.log']
  for (const file of files) {
    const injected: Log = ['injected', 'log', recorded(file)]
    const attached: Log = ['attached', 'log', later(recorded(file))]
    t.strictSame(shownOf([injected, attached]), shownOf([injected]), file)
  }
})

t.test('observers of different containers are both shown', async (t) => {
  const text = recorded('findings/pressure-lammps.log')
  const [name] = /(?<="container":")[^"]+(?=")/.exec(text.replace(/^METADATA.*$/gm, '')) ?? []
  const other = later(text).replaceAll(`"container":"${name}"`, '"container":"helper"')
  const run = runOf([
    ['injected', 'pressure', text],
    ['attached', 'pressure', other],
  ])
  const lines = (own: ReturnType<typeof runOf>) =>
    pageData(own, 'process').sections.find(({ section }) => section === 'process')?.plots.lines
      .length ?? 0
  t.equal(lines(run), 2 * lines(runOf([['injected', 'pressure', text]])))
})
