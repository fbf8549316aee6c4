import t from 'tap'
import { readStampedLines } from '../../../../src/runs/top/stamped-lines.ts'

/** Reads texts, each over a connection of its own, and returns the lines that were taken. */
function readAll(connections: readonly (readonly string[])[]) {
  const lines = readStampedLines()
  const taken: string[] = []
  const times: number[] = []
  const sinces: (string | undefined)[] = []
  for (const parts of connections) {
    sinces.push(lines.since())
    lines.begin()
    for (const part of parts) {
      lines.push(part, (line, at) => {
        taken.push(line)
        times.push(at)
      })
    }
  }
  return { taken, times, sinces, since: lines.since() }
}

const at = (nanoseconds: number, text: string) =>
  `2026-01-01T10:00:00.${String(nanoseconds).padStart(9, '0')}Z ${text}\n`

t.test('lines are read whole from parts that end anywhere, with their time', async (t) => {
  const text = at(1_000_000, 'one') + at(2_000_000, 'two')
  for (let cut = 0; cut <= text.length; cut += 1) {
    const { taken, times } = readAll([[text.slice(0, cut), text.slice(cut)]])
    t.strictSame(taken, ['one', 'two'], `cut at ${cut}`)
    t.strictSame(times, [1767261600001, 1767261600002])
  }
})

t.test('a line without its end is not read', async (t) => {
  t.strictSame(readAll([[at(1, 'one'), '2026-01-01T10:00:00.000000002Z tw']]).taken, ['one'])
})

t.test('a new connection begins at the second of the last line', async (t) => {
  const { sinces, since } = readAll([[at(900_000_000, 'one')], []])
  t.strictSame(sinces, [undefined, '2026-01-01T10:00:00Z'])
  t.equal(since, '2026-01-01T10:00:00Z')
  const zoned = readAll([['2026-01-01T12:00:00.5+02:00 one\n']])
  t.equal(zoned.since, '2026-01-01T10:00:00Z')
})

t.test('lines that a new connection repeats are dropped, wherever the first one broke', (t) => {
  const all = ['a', 'b', 'c', 'd', 'e']
  // Two pairs of lines have the same time.
  const times = [1, 2, 2, 3, 3]
  const text = all.map((line, index) => at(times[index] ?? 0, line)).join('')
  for (let cut = 0; cut <= text.length; cut += 1) {
    const { taken } = readAll([[text.slice(0, cut)], [text]])
    t.strictSame(taken, all, `broken at ${cut}`)
    const thrice = readAll([[text.slice(0, cut)], [text.slice(0, cut + 10)], [text]])
    t.strictSame(thrice.taken, all, `broken at ${cut}, and 10 characters later`)
  }
  t.end()
})

t.test('the rest of a long line, which has no time, does not count as a new line', async (t) => {
  const [first, second] = [at(1, 'a long line'), at(2, 'two')]
  const { taken } = readAll([
    [first, second],
    ['long line\n', second, at(3, 'three')],
  ])
  t.strictSame(taken, ['a long line', 'two', 'three'])
})

t.test('a line that does not end is dropped', async (t) => {
  const long = 'x'.repeat(9 * 1024 * 1024)
  t.strictSame(readAll([[at(1, 'one'), long, `${long}\n`, at(2, 'two')]]).taken, ['one', 'two'])
})

t.test('a line without a time is taken as it is', async (t) => {
  const { taken, times } = readAll([['unable to retrieve container logs\n']])
  t.strictSame(taken, ['unable to retrieve container logs'])
  t.strictSame(times, [Number.NaN])
})
