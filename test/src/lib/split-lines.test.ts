import { Readable } from 'node:stream'
import t from 'tap'
import { splitLines } from '../../../src/lib/split-lines.ts'

async function linesOf(chunks: readonly (Uint8Array | string)[], longest?: number) {
  const lines: string[] = []
  for await (const line of splitLines(Readable.from(chunks), longest)) lines.push(line)
  return lines
}

t.test('the lines do not depend on how the text arrives', async (t) => {
  const text = 'one\n\ntwo\r\u2028 \u{1f600}\nlast'
  const expected = ['one', '', 'two\r\u2028 \u{1f600}', 'last']
  t.strictSame(await linesOf([text]), expected)
  t.strictSame(await linesOf([`${text}\n`]), expected)
  const bytes = new TextEncoder().encode(text)
  t.strictSame(await linesOf([...bytes].map((byte) => Uint8Array.of(byte))), expected)
  t.strictSame(await linesOf([]), [])
  t.strictSame(await linesOf(['\n']), [''])
})

t.test('a line that is too long is split, and nothing of it is lost', async (t) => {
  const text = `short\n${'x'.repeat(10)}\n${'y'.repeat(25)}\n${'z'.repeat(21)}`
  const expected = ['short', 'xxxxxxxxxx', 'yyyyyyyyyy', 'yyyyyyyyyy', 'yyyyy', 'zzzzzzzzzz']
  for (const size of [1, 3, 7, 10, 11, 100]) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    t.strictSame(await linesOf(chunks, 10), [...expected, 'zzzzzzzzzz', 'z'], `chunks of ${size}`)
  }
  const halves = await linesOf([`abc${'\u{1f600}'.repeat(4)}`], 4)
  t.strictSame(halves, ['abc', '\u{1f600}\u{1f600}', '\u{1f600}\u{1f600}'])
})

t.test('the time for a line grows with its length, and not with its square', async (t) => {
  const timeOf = async (count: number) => {
    const chunks = Array.from({ length: count }, () => 'x'.repeat(65_536))
    const began = process.cpuUsage()
    await linesOf(chunks)
    const { user, system } = process.cpuUsage(began)
    return user + system
  }
  await timeOf(100)
  const [small, large] = [await timeOf(200), await timeOf(1600)]
  t.ok(large < 24 * small, `8 times the text took ${(large / small).toFixed(1)} times as long`)
})
