import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { textOf } from '../../docs/pages.ts'
import { startPrometheus, withoutPrometheus } from '../../observers/live-export/prometheus.ts'
import { exporting, variablesOf } from '../../observers/live-export/receiver.ts'
import { until } from '../../until.ts'
import { NATIVE } from '../watched-pod.ts'
import { mpirun, mpiTests, programsFor } from './programs.ts'
import { tracedPod } from './traced-pod.ts'

const options = { skip: mpiTests().skip || withoutPrometheus, timeout: 300_000 }
const CHART = new URL('../../../charts/ridealong/templates/prometheus-rule.yaml', import.meta.url)

/** The expression of the alert in the documentation, on one line. */
const [, DOCUMENTED = ''] = /^```promql\n(\(max by .*?)^```$/ms.exec(textOf('docs/live.md')) ?? []
const EXPRESSION = DOCUMENTED.trim().replace(/\s+/g, ' ')

/** The same expression for a job that has waited for five seconds. */
const SOON = EXPRESSION.replace('> 600', '> 5').replaceAll('[10m]', '[5s]')

t.test('the alert in the documentation is that of the chart', async (t) => {
  const chart = readFileSync(CHART, 'utf8').replace(/\s+/g, ' ')
  t.ok(EXPRESSION.includes('> 600') && chart.includes(EXPRESSION))
  t.not(SOON, EXPRESSION)
})

for (const mode of ['sleep', 'init-stop'] as const)
  t.test(`the alert fires for ranks that wait: ${mode}`, options, async (t) => {
    const prometheus = await startPrometheus(t, 'global: {}')
    const { endpoint } = prometheus
    const catalog = exporting(await loadCatalog({}), { endpoint, interval: 1 })
    const identity = { RIDEALONG_OWNER: 'Job/lammps', POD_NAMESPACE: 'hpc', POD_NAME: 'lammps-0' }
    const exported = variablesOf(['mpi-trace'], catalog).get('mpi-trace')
    const { watching, start } = await tracedPod(t, { ...NATIVE, ...identity, ...exported })
    const words = mpirun('openmpi', 3, programsFor('openmpi').stuck, mode)
    const app = await start(...words)
    const firing = async () => {
      const samples = await prometheus.query(SOON)
      return samples.map(({ metric }) => `${metric.job} ${metric.ridealong_mpi_rank}`).sort()
    }
    await until('two ranks wait', async () => (await firing()).length >= 2, { patienceMs: 200_000 })
    const late = mode === 'sleep' ? [] : ['hpc/lammps 2']
    t.strictSame(await firing(), ['hpc/lammps 0', 'hpc/lammps 1', ...late])
    const series = await prometheus.query('{ridealong_mpi_rank="0"}')
    t.ok(series.length >= 1 && series.length <= 4, `${series.length} series of a rank`)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    app.signal('SIGKILL')
  })
