import pino from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import { createRowsReport } from '../../../../cli/archive/service/rows-report.ts'

t.test('failures are counted since the last success of their kind', async (t) => {
  const report = createRowsReport(new Registry(), pino({ level: 'silent' }), () => 0)
  const failed = (count: number) => `failed attempts: ${count}; the log has the reasons`
  t.equal(report.trouble, undefined)
  report.onFailure('hpc', 'the volume is full')
  report.onStored()
  report.onFailure('hpc', 'the volume is full')
  t.equal(report.trouble, failed(1), 'also if nobody has asked after the success')
  report.onSweepFailure('the volume cannot be read')
  report.onIndexFailure('the volume is full')
  t.equal(report.trouble, failed(3))
  report.onStored()
  report.onSwept()
  t.equal(report.trouble, failed(1))
  report.onIndexed()
  t.equal(report.trouble, undefined)
})
