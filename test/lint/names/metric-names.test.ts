import t from 'tap'
import { findMetricNames } from './metric-names.ts'

const METRICS = ['pressure', 'mpi-trace']
const problemsOf = (path: string, text: string) => findMetricNames({ path, text }, METRICS)

t.test('a module that spells the name of a metric is a problem', async (t) => {
  const text = "import a from '../mpi-trace/metric.ts'\nconst of = { metric: 'pressure' }\n"
  t.strictSame(problemsOf('src/runs/findings/cpu-rules.ts', text), [
    {
      path: 'src/runs/findings/cpu-rules.ts',
      line: 2,
      message:
        "'pressure' is a metric; import it from src/runs/metrics/pressure, or loop over METRICS",
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
