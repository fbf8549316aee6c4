import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { answerFile, CASE_NAMES } from '../cases/read.ts'
import { createHost } from '../cli/host.ts'
import { creatorOf } from './summary.ts'
import { showTour } from './tour.ts'

const DEMO = fileURLToPath(new URL('demo.ts', import.meta.url))

/** Runs the demonstration, without variables of the test runner that affect colours. */
async function demo(args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env
  const child = spawn(process.execPath, [DEMO, ...args], { env: { ...env, ...variables } })
  const ended = once(child, 'close')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  return { code, out, err }
}

/** Returns the lines of the summary's table, without its header. */
function rowsOf(out: string): string[] {
  const [, table = ''] = stripVTControlCharacters(out).split(/^OPERATOR .*\n/m)
  return table.split('\n\n')[0]?.split('\n') ?? []
}

/** The cases that request the default metrics. */
const WITH_DEFAULTS = ['pod-inject-true', 'pod-inject-enabled', 'pod-inject-list']

/**
 * Returns the cells of the table for a golden answer: the outcome, and the observers or the reason.
 * The demonstration has the built-in catalog, whose default metric is not that of the golden
 * answers.
 */
function goldenWords(name: string): string {
  const answer = JSON.parse(readFileSync(answerFile(name), 'utf8'))
  const { outcome, reason, patch = [] } = answer
  if (outcome !== 'injected') return `${outcome} ${reason}`
  const { value } = patch.find(({ path }: { path: string }) => path.startsWith('/metadata/'))
  const { metrics } = JSON.parse(value['ridealong.dev/status'] ?? value)
  const shown = metrics.map((metric: string) =>
    WITH_DEFAULTS.includes(name) && metric === 'perf-sysstat' ? 'vitals' : metric,
  )
  return `${outcome} ${shown.join(',')}`
}

const wordsOf = (row: string) => row.split(/\s+/).slice(2).join(' ')

t.test('the demonstration shows a change, a run and a hang, and writes a page', async (t) => {
  const [folder, before] = [t.testdir({}), process.cwd()]
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  const host = createHost()
  t.equal(await showTour(host), 0, host.err())
  const out = host.out()
  const change = out.match(/^\+.*$/gm) ?? []
  t.equal(change.length, 10)
  t.strictSame(change.slice(0, 3), [
    '+  shareProcessNamespace: true',
    '+  initContainers:',
    '+  - name: vitals',
  ])
  t.match(
    out,
    /^Job\/lammps in demo\nTook 20.4 s on 2 MPI ranks in 1 pod\. .*the work was uneven \(load balance /m,
  )
  t.match(out, /^Efficiency 0\.\d\d = load balance 0\.\d\d × /m)
  t.match(
    out,
    /^ {2}No progress .* MPI ranks 0-2 wait in MPI_Allreduce .* MPI rank 3 has not come: /m,
  )
  t.equal(out, stripVTControlCharacters(out), 'a pipe receives no colours')
  t.match(out, `The page of the run of LAMMPS: ${join(folder, 'demo.html')}\n`)
  t.match(readFileSync(join(folder, 'demo.html'), 'utf8'), '<title>Job/lammps in demo</title>')
})

t.test('with --all, the demonstration shows every change, and a row for each pod', async (t) => {
  const { code, out, err } = await demo(['--all'])
  t.equal(code, 0, err)
  for (const name of CASE_NAMES) t.match(out, new RegExp(`^${name}: (injected|left) `, 'm'))
  const patched = CASE_NAMES.filter((name) => goldenWords(name).startsWith('injected'))
  const shared = out.match(/^\+ {2}shareProcessNamespace: true$/gm)?.length ?? 0
  const already = CASE_NAMES.filter((name) => name === 'flux-minicluster-already-shared')
  t.equal(shared, patched.length - already.length)
  t.match(out, /^flux-minicluster-rank0: injected perf-sysstat, io-sysstat$/m)
  const rows = rowsOf(out)
  t.strictSame(rows.map(wordsOf).sort(), CASE_NAMES.map(goldenWords).sort())
  t.match(rows[0], /^Flux +MiniCluster +injected +perf-sysstat$/)
  t.match(rows.at(-1), /^- +Pod +left +\S+$/)
  t.ok(
    rows.every((row) => row.length <= 80),
    'the table has at most 80 columns',
  )
  t.equal(out, stripVTControlCharacters(out), 'a pipe receives no colours')
})

t.test('the demonstration prints no colours if NO_COLOR is set', async (t) => {
  const coloured = await demo(['--all'], { FORCE_COLOR: '1' })
  t.not(coloured.out, stripVTControlCharacters(coloured.out), 'FORCE_COLOR adds colours in a pipe')
  const plain = await demo(['--all'], { NO_COLOR: '1' })
  t.equal(plain.out, stripVTControlCharacters(plain.out))
})

t.test('the demonstration refuses an unknown argument, and prints its usage', async (t) => {
  const { code, out, err } = await demo(['--al'])
  t.equal(code, 2)
  t.equal(out, '')
  t.match(err, /--al.*\nUsage: npm run demo \[-- --all\]\n$/)
})

t.test('a pod of the Metrics Operator that also has a label of JobSet is recognized', async (t) => {
  const labels = { 'metricset-name': 'm', 'jobset.sigs.k8s.io/jobset-name': 'm' }
  t.match(creatorOf({ labels }), { operator: 'Metrics', kind: 'MetricSet' })
})
