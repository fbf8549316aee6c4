import t from 'tap'
import { compareEnds, type End, endOf } from './ends.ts'

const end = (code: string, ...lines: readonly string[]): End => ({ code, lines })

t.test('a tool may change neither the end nor the output of a program', async (t) => {
  const verdict = (one: End, other: End, recorded: End) =>
    compareEnds({ plain: [one, other], recorded })
  t.equal(verdict(end('0', 'a'), end('0', 'a'), end('0', 'a')), 'equal')
  t.equal(verdict(end('0', 'a'), end('0', 'a'), end('0', 'b')), 'differs')
  t.equal(verdict(end('0', 'a'), end('0', 'b'), end('0', 'c')), 'equal', 'the output varies')
  t.equal(verdict(end('0'), end('0'), end('time-out')), 'differs')
  t.equal(verdict(end('time-out', 'a'), end('time-out'), end('time-out', 'b')), 'equal')
  t.equal(verdict(end('1'), end('0'), end('1')), 'unstable')
  t.equal(verdict(end('1'), end('0'), end('139')), 'differs', 'a third end')
})

t.test('the end of a program has its exit code, or that it took too long', async (t) => {
  const ended = (script: string, seconds = 60) => endOf(['sh', '-c', script], {}, seconds)
  t.strictSame(await ended('echo b; echo a; exit 3'), end('3', 'a', 'b'))
  t.strictSame(await ended('printf "at 0x7f3a\\n"'), end('0', 'at 0x'))
  t.match(await ended('sleep 60', 0.1), { code: 'time-out' })
})
