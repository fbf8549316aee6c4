import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { FindingsDocument } from '../../../src/runs/report/document/findings-document.ts'
import { run } from '../../cli/command.ts'
import type { Cluster } from '../machine/cluster.ts'
import { runMiniCluster } from '../operators/mini-cluster.ts'
import { startOperators } from '../operators/start.ts'
import { installChart } from '../release/installed-chart.ts'
import { withTools } from '../release/tool-images.ts'
import { createNamespace, runningCluster } from '../running.ts'

// All built-in metrics observe one run: LAMMPS in a MiniCluster of the Flux Operator, with one rank
// of MPI in each of two pods. With RIDEALONG_RECORD=true, the logs replace test/logs/all-metrics,
// which other tests read.

const NAME = 'ridealong-all'
const SPACE = 'all-metrics'
const RECORDED = fileURLToPath(new URL('../../logs/all-metrics/', import.meta.url))

const METRICS = [
  ...['cpu-profile', 'io-sysstat', 'mpi-trace', 'network', 'perf-sysstat', 'pressure'],
  'vitals',
]
const RATES = METRICS.filter((metric) => metric !== 'cpu-profile').map((metric) => {
  return [`${metric}.ridealong.dev/rate`, '2'] as const
})
const ANNOTATIONS = { 'ridealong.dev/inject': METRICS.join(','), ...Object.fromEntries(RATES) }

/** Collects the log of each observer, and returns the folder of the logs. */
async function collectLogs(t: Test, { kubeconfig }: Cluster): Promise<string> {
  const folder = join(t.testdir({}), 'logs')
  const from = ['-n', SPACE, '--kubeconfig', kubeconfig]
  const words = ['minicluster/lammps', ...from, '--output', 'logs', '--to', `${folder}/`]
  const { code, err } = await run(['collect', ...words])
  t.equal(code, 0, err)
  return folder
}

/** Returns the pods of a report of the logs of some metrics. */
async function podsIn(folder: string, metrics: readonly string[]) {
  const names = readdirSync(folder).filter((name) => {
    return metrics.some((metric) => name.endsWith(`.${metric}.log`))
  })
  const files = names.sort().map((name) => join(folder, name))
  const { out } = await run(['report', ...files, '--output', 'json'])
  const { pods }: FindingsDocument = JSON.parse(out)
  return pods
}

/**
 * Returns the CPU seconds of each program. Those of a program that ran between two samples of
 * perf-sysstat are not known.
 */
function timesOf(programs: FindingsDocument['pods'][number]['programs']) {
  return programs.flatMap(({ program, cpu_seconds: seconds }) =>
    seconds === null ? [] : [[program, seconds]],
  )
}

function record(folder: string): void {
  mkdirSync(RECORDED, { recursive: true })
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.log'))) {
    // The names of the pods end with five random characters.
    const short = name.replace(/^(lammps-\d)-[a-z0-9]{5}\./, '$1.')
    copyFileSync(join(folder, name), join(RECORDED, short))
  }
}

t.test('seven metrics observe LAMMPS in a MiniCluster together', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const tools = withTools('cpu-profile', 'mpi-trace')
  await installChart(t, cluster, api, NAME, tools)
  await startOperators(t, cluster, api, ['flux-operator'])
  await createNamespace(t, api, SPACE, { labels: { 'ridealong.dev/tools': 'true' } })
  await runMiniCluster(cluster, SPACE, ANNOTATIONS)
  const folder = await collectLogs(t, cluster)
  if (process.env.RIDEALONG_RECORD === 'true') record(folder)
  const pods = await podsIn(folder, METRICS)
  const alone = await podsIn(folder, ['perf-sysstat'])
  t.equal(pods.length, 2)
  for (const [index, { podIndex, pod, programs, mpi_ranks = [] }] of pods.entries()) {
    const lammps = programs.find(({ program }) => program === 'lmp')
    t.match(lammps, { processes: 1, sources: { cpu_seconds: { metric: 'perf-sysstat' } } })
    const expected = timesOf(alone[index]?.programs ?? [])
    t.strictSame(timesOf(programs), expected, `the CPU times of pod ${podIndex}`)
    t.equal(mpi_ranks.length, 1, `${pod} has one rank of MPI`)
    const text = readFileSync(join(folder, `${pod}.cpu-profile.log`), 'utf8')
    t.match(text, /"section":"process".*"program":"lmp"/, `${pod} was profiled`)
  }
})
