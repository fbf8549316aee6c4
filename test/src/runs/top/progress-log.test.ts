import t from 'tap'
import { startProgressLog } from '../../../../src/runs/top/progress-log.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

const TIME = '2026-09-21T14:13:20.000Z'

function logOf(stacks: readonly string[]) {
  const description = BUILT_IN_ROWS.get('python-profile')
  if (description === undefined) throw new Error('the catalog describes the rows')
  const log = startProgressLog({ namespace: 'hpc', pod: 'job-0' }, 'python-profile', description)
  for (const stack of stacks) {
    const place = { container: 'app', program: 'python3', pid: 70, thread: 70, threads: 'main' }
    const row = { time: TIME, section: 'now', ...place, activity: 'waiting', stack, unchanged: 5 }
    log.push(JSON.stringify(row), Date.parse(TIME))
  }
  return log
}

t.test('the longest stack of an observer fits, and too many rows do not', async (t) => {
  // An observer cuts a stack at 8,192 bytes. In JSON, the row can be twice as long.
  const stack = '"'.repeat(8192)
  t.match(logOf([stack]), { isTooLarge: false, size: Number })
  t.ok(logOf([stack]).size > 2 * 8192)
  t.equal(logOf(Array(64).fill(stack)).isTooLarge, true)
})
