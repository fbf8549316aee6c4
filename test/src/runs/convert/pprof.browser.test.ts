import t from 'tap'
import { pageData } from '../../../../src/runs/report/data.ts'
import { pprof } from './converted.ts'
import { recordedRun } from './recorded.ts'
import { secondsIn, showInSpeedscope } from './speedscope-viewer.ts'

t.test('speedscope reads a profile of pprof', async (t) => {
  const run = recordedRun('profiles')
  const [shown] = await showInSpeedscope(t, 'run.pb.gz', pprof(run), 1)
  const rows = pageData(run, 'auto').profiles?.programs[0]?.functions.rows ?? []
  t.ok((shown?.functions.length ?? 0) > 10)
  for (const { name, self } of shown?.functions.slice(0, 3) ?? []) {
    const row = rows.find((one) => one.name === name)
    const seconds = row?.self.reduce<number>((sum, own) => sum + (own ?? 0), 0) ?? 0
    t.ok(Math.abs(secondsIn(self) - seconds) <= 0.005, `${name}: ${self}, ${seconds} s`)
  }
})
