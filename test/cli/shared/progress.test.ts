import t, { type Test } from 'tap'
import { type Progress, startProgress } from '../../../cli/shared/progress.ts'

/** Returns what standard error, which is no terminal, gets while `show` runs. */
function written(t: Test, lineMs: number | undefined, show: (progress: Progress) => void) {
  const results = t.capture(process.stderr, 'write', () => true)
  const { isTTY } = process.stderr
  process.stderr.isTTY = false
  t.teardown(() => {
    process.stderr.isTTY = isTTY
  })
  const progress = startProgress(lineMs)
  show(progress)
  progress.clear()
  return results().map(({ args }) => String(args[0]))
}

t.test('without a terminal, the progress is printed as lines', async (t) => {
  const lines = written(t, 0, ({ show }) => {
    show(10, 1000, '70 samples, about 3 min left')
    show(1000, 1000, '7000 samples')
  })
  t.strictSame(lines, ['ridealong: 10/1000 logs, 70 samples, about 3 min left\n'])
})

t.test('a line is printed only if some time has passed since the last one', async (t) => {
  const lines = written(t, 60_000, ({ show }) => show(10, 1000, '70 samples'))
  t.strictSame(lines, [])
})

t.test('without an interval, no lines are printed', async (t) => {
  t.strictSame(
    written(t, undefined, ({ show }) => show(10, 1000, 'following')),
    [],
  )
})
