import t from 'tap'
import { pageData } from '../../../../src/runs/report/data.ts'
import { speedscope } from './converted.ts'
import { recordedRun } from './recorded.ts'
import { secondsIn, showInSpeedscope } from './speedscope-viewer.ts'

t.test('speedscope shows the functions of each pod', async (t) => {
  const run = recordedRun('all-metrics')
  const shown = await showInSpeedscope(t, 'run.speedscope.json', speedscope(run), 2)
  t.strictSame(
    shown.map(({ title }) => title),
    ['pod 0, lmp (1/2)', 'pod 1, lmp (2/2)'],
  )
  const rows = pageData(run, 'auto').profiles?.programs[0]?.functions.rows ?? []
  for (const [pod, { functions }] of shown.entries()) {
    t.ok(functions.length > 10)
    for (const { name, self } of functions.slice(0, 5)) {
      const known = rows.filter((row) => row.name === name)
      const seconds = known.reduce((sum, row) => sum + (row.self[pod] ?? 0), 0)
      const difference = Math.abs(secondsIn(self) - seconds)
      t.ok(difference <= 0.005, `${name} of pod ${pod}: ${self} is ${seconds} s of the report`)
    }
  }
})
