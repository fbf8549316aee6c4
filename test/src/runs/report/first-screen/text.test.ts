import t from 'tap'
import { reportModel } from '../../../../../src/runs/report/data.ts'
import { formatReport } from '../../../../../src/runs/report/first-screen/text.ts'
import { readRecorded, recordedLogs } from '../recorded-run.ts'

const MODEL = reportModel(readRecorded(recordedLogs('throttled')), 'auto')

t.test('findings that do not fit are named', async (t) => {
  const { findings } = MODEL.page
  const [finding] = findings.findings
  if (finding === undefined) throw new Error('the run has a finding')
  const named = (count: number) => {
    const many = Array.from({ length: count }, (_, index) => ({ ...finding, title: `F${index}` }))
    const page = { ...MODEL.page, notices: [], findings: { ...findings, findings: many } }
    return formatReport('', { ...MODEL, page }).at(-1)
  }
  t.equal(named(4), '  and 1 more finding: F3')
  t.equal(named(5), '  and 2 more findings: F3, F4')
  t.type(named(3), 'object')
})

t.test('six notes are shown, and where the others are', async (t) => {
  const shown = (count: number) => {
    const notices = Array.from({ length: count }, (_, index) => `Note ${index}.`)
    return formatReport('', { ...MODEL, page: { ...MODEL.page, notices } }).slice(-2)
  }
  t.match(shown(6), [{ text: 'Notes about the data:' }, { rows: { length: 6 } }])
  t.match(shown(8), [{ rows: { length: 6 } }, '  and 2 more notes, in --output json'])
})
