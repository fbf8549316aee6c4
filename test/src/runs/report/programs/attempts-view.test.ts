import { readFileSync } from 'node:fs'
import t from 'tap'
import { formatText } from '../../../../../cli/shared/table.ts'
import { missingFactor } from '../../../../../src/runs/efficiency/factor.ts'
import type { EndedContainer } from '../../../../../src/runs/log/entry.ts'
import {
  attemptBlocks,
  attemptsReports,
} from '../../../../../src/runs/report/programs/attempts-view.ts'
import type { ReportedAttempts } from '../../../../../src/runs/report/programs/reported-attempts.ts'

function endOf(exitCode: number, reason: string, finishedAt: string): EndedContainer {
  const state = { restarted: false, deleted: false, signal: null }
  return { container: 'app', reason, exitCode, finishedAt, ...state }
}

const EFFICIENCY = missingFactor('efficiency', 'not measured')
const factorOf = (value: number) => ({ ...EFFICIENCY, value, least: null, missing: null })

const ATTEMPTS: ReportedAttempts = {
  known: [
    {
      ...{ attempt: 2, isCounted: false, pods: ['0'], efficiency: factorOf(0.61) },
      ended: [endOf(137, 'OOMKilled', '2026-11-30T12:10:05Z')],
      mpi: { ranks: 2, calls: 800, bytes: 3200 },
    },
    {
      ...{ attempt: 3, isCounted: true, pods: ['0'], efficiency: factorOf(0.62) },
      ended: [endOf(0, 'Completed', '2026-11-30T12:20:05Z')],
      mpi: { ranks: 2, calls: 1204, bytes: 4816 },
    },
  ],
  lost: [[1, 1]],
}

t.test('attempts are printed as in the document', async (t) => {
  const printed = formatText(attemptBlocks(ATTEMPTS)).join('\n').trim()
  const page = readFileSync(new URL('../../../../../docs/report.md', import.meta.url), 'utf8')
  t.ok(page.includes(`\`\`\`text\n${printed}\n\`\`\``), printed)
})

t.test('pods that ended in the same way are counted', async (t) => {
  const [first] = ATTEMPTS.known
  if (first === undefined) return
  const codes = [1, 137, 1]
  const ended = codes.map((code, second) => endOf(code, 'Error', `2026-11-30T12:00:0${second}Z`))
  const known = [{ ...first, ended, mpi: null, efficiency: EFFICIENCY }]
  const printed = formatText(attemptBlocks({ known, lost: [[1, 9]] })).join('\n')
  t.match(printed, /^ {2}1 to 9 {2}no log was read: /m)
  const ends = 'exit code 1 of 2 pods, exit code 137 (SIGKILL) of 1 pod at 2026-11-30T12:00:02Z'
  t.ok(printed.endsWith(`\n  2       ${ends}`), printed)
})

t.test('the JSON has the numbers, or why they are missing', async (t) => {
  const [{ document, part } = { document: {}, part: undefined }] = attemptsReports(ATTEMPTS, null)
  t.match(document, {
    attempts: {
      known: [
        { attempt: 2, isCounted: false, podIndexes: ['0'], mpi: { calls: 800 }, efficiency: 0.61 },
        { attempt: 3, isCounted: true, missing: null },
      ],
      lost: [{ first: 1, last: 1, reason: /^no log was read/ }],
    },
  })
  t.match(part, { facts: 'the report is about attempt 3', left: /^Attempt 1: no log/ })
  t.strictSame(attemptsReports({ known: [], lost: [] }, null), [], 'nothing was started again')
})
