import t from 'tap'
import { findMetricNames } from './metric-names.ts'

const METRICS = ['pressure', 'mpi-trace']
const problemsOf = (path: string, text: string) => findMetricNames({ path, text }, METRICS)

t.test('a module that spells the name of a metric is a problem', async (t) => {
  const text = "// Rows of mpi-trace.\nconst of = { metric: 'pressure' }\n"
  t.strictSame(problemsOf('src/runs/findings/cpu-rules.ts', text), [
    {
      path: 'src/runs/findings/cpu-rules.ts',
      line: 2,
      message:
        "'pressure' is a metric; loop over METRICS, or move this to src/runs/metrics/pressure",
    },
  ])
  t.equal(problemsOf('src/runs/metrics/mpi-trace/rule.ts', text).length, 1, 'another metric')
})

t.test('the module of the metric, the catalog and other texts name it', async (t) => {
  const text = "const name = 'pressure'\n"
  t.strictSame(problemsOf('src/runs/metrics/pressure/metric.ts', text), [])
  t.strictSame(problemsOf('src/catalog/load.ts', text), [])
  t.strictSame(problemsOf('cli/a.ts', "// 'pressure'\nconst a = 'the pressure of memory'\n"), [])
})

t.test('a module that imports from the folder of a metric is a problem', async (t) => {
  const text =
    "import type { A } from '../metrics/pressure/metric.ts'\nconst b = import('./b.ts')\n"
  t.strictSame(problemsOf('src/runs/findings/cpu-rules.ts', text), [
    {
      path: 'src/runs/findings/cpu-rules.ts',
      line: 1,
      message:
        "'pressure' is a metric; loop over METRICS, or move this to src/runs/metrics/pressure",
    },
  ])
  const metrics = "import { METRICS } from '../metrics/index.ts'\n"
  t.strictSame(problemsOf('src/runs/findings/rules.ts', metrics), [])
  const other = "import { P } from '../pressure/metric.ts'\n"
  t.strictSame(problemsOf('src/runs/metrics/mpi-trace/rule.ts', other), [], 'within metrics')
})
