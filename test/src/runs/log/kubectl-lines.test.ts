import t from 'tap'
import { readKubectlLines } from '../../../../src/runs/log/kubectl-lines.ts'

const ROW = '{"time":"2026-11-26T09:22:50.170Z","section":"process","pid":26}'

/** Returns the lines as the log has them, and what is in the way. */
function readAll(lines: readonly string[]) {
  const reader = readKubectlLines()
  return { lines: lines.map(reader.strip), problem: reader.problem() }
}

t.test('the times of kubectl logs --timestamps are removed', async (t) => {
  const written = ['METADATA START {}', 'METADATA END', '', ROW]
  for (const stamp of ['2026-11-26T09:22:50.170123456Z ', '2026-11-26T10:22:50+01:00 ']) {
    const { lines } = readAll(written.map((line) => `${stamp}${line}`))
    t.strictSame(lines, written, stamp)
  }
})

t.test('times are kept if the first line has none, such as those of iostat', async (t) => {
  const written = ['METADATA START {}', '2026-11-26T09:22:50+00:00 a']
  t.strictSame(readAll(written).lines, written)
})

t.test('a prefix of kubectl is named, with the command for the log of this observer', async (t) => {
  const prefix = '[pod/lammps-0-5fprk/vitals] '
  for (const stamp of ['', '2026-11-26T09:22:50.170123456Z ']) {
    const { problem } = readAll([`${prefix}${stamp}METADATA START {}`])
    t.match(problem, /prefix of kubectl logs --prefix; .*: kubectl logs lammps-0-5fprk -c vitals$/)
  }
})

t.test('rows without their beginning are named, and other text is not', async (t) => {
  t.match(readAll([ROW]).problem, /METADATA START .*without --tail and --since/)
  t.equal(readAll(['Total wall time: 0:00:12']).problem, undefined)
})
