import t from 'tap'
import { type Progress, startProgress } from '../../../cli/shared/progress.ts'
import { createSession } from '../host.ts'

/** Returns the lines that standard error, which is no terminal, gets while `show` runs. */
function written(lineMs: number | undefined, show: (progress: Progress) => void) {
  const session = createSession()
  const progress = startProgress(session, lineMs)
  show(progress)
  progress.clear()
  return session.err().split('\n').slice(0, -1)
}

t.test('without a terminal, the progress is printed as lines', async (t) => {
  const lines = written(0, ({ show }) => {
    show(10, 1000, '70 samples, about 3 min left')
    show(1000, 1000, '7000 samples')
  })
  t.strictSame(lines, ['ridealong: 10/1000 logs, 70 samples, about 3 min left'])
})

t.test('a line is printed only if some time has passed since the last one', async (t) => {
  const lines = written(60_000, ({ show }) => show(10, 1000, '70 samples'))
  t.strictSame(lines, [])
})

t.test('without an interval, no lines are printed', async (t) => {
  t.strictSame(
    written(undefined, ({ show }) => show(10, 1000, 'following')),
    [],
  )
})
