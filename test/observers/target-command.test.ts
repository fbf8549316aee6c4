import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { problemOfTargetCommand } from '../../src/core/text/target-command.ts'
import { asBytes, latin1 } from '../src/core/text/pattern-of-bytes.ts'

// Tests that the webhook and the observer accept the same patterns, and that the observer matches
// them correctly.

const CRATE = fileURLToPath(new URL('../../observer', import.meta.url))

/**
 * Returns a character for each pattern and text: "1" if the text matches, "0" if it does not match,
 * and "-" if the pattern is invalid.
 */
function answers(pairs: readonly (readonly [string, string])[]): string {
  const input = pairs.map((pair) => `${pair.join('\t')}\n`).join('')
  const words = ['run', '--locked', '--quiet', '--example', 'matches']
  const text = execFileSync('cargo', words, { cwd: CRATE, input, encoding: 'utf8' })
  t.equal(text.length, pairs.length)
  return text
}

const TOKENS = [
  'a b ab c . .* \\. \\{ \\\\ \\d \\ ( ) (a ) | ^ $ * + ? {2} {1,3} {0} {2,} {,2} {3,2} {256} {99}',
  '[ab] [^a] [a-c] []b] [^]] [^] [] [-a] [a-] [--] [c-a] [a-c-d] [&&]',
  '[[:alpha:]] [[:digit:][:punct:]x] [[:word:]] [[=a=]] [ö] } ] - & / " ö (ö) 1 _',
].flatMap((line) => line.split(' '))
const PATTERNS = fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 7 })
/** The tokens that mean the same in JavaScript after their POSIX classes are replaced. */
const PLAIN = TOKENS.filter((token) => !/^\[(\]|\^\]?\]|--?\]|\[:word|\[=)/.test(token))
const PLAIN_PATTERNS = fc.array(fc.constantFrom(...PLAIN, '[]b]', '[^]]'), {
  minLength: 1,
  maxLength: 7,
})
const CHARACTERS = fc.array(fc.constantFrom(...'ab-^[]\\&~:.=0,{}()|*'), { maxLength: 9 })
const TEXTS = fc.array(fc.constantFrom(...'aabbccö.{}]-&/"1_\\^'), { maxLength: 6 })

t.test('the observer accepts the same patterns as the webhook', async (t) => {
  const patterns = [
    ...fc.sample(PATTERNS, { numRuns: 20_000, seed: 2 }),
    ...fc.sample(CHARACTERS, { numRuns: 20_000, seed: 3 }),
    ...fc.sample(CHARACTERS, { numRuns: 20_000, seed: 4 }).map((part) => ['[', ...part, ']']),
    ['x'.repeat(256)],
    ['x'.repeat(257)],
    ['(a{1,16}){1,16}'],
    ['(a{1,16}){1,17}'],
    ['a{255,}'],
    ['a{255,}b'],
    [`${'('.repeat(32)}a${')'.repeat(32)}`],
    [`${'('.repeat(33)}a${')'.repeat(33)}`],
    [`${'('.repeat(8)}a${'+)'.repeat(8)}`],
    [`${'('.repeat(9)}a${'+)'.repeat(9)}`],
  ]
  const texts = patterns.map((parts) => parts.join('')).filter((pattern) => pattern !== '')
  const said = answers(texts.map((pattern) => [pattern, 'a']))
  const differing = texts.filter(
    (pattern, at) => (problemOfTargetCommand(pattern) === undefined) !== (said[at] !== '-'),
  )
  t.strictSame([...new Set(differing)].slice(0, 20), [])
  t.ok(said.replaceAll('-', '').length > 5000, 'thousands of patterns are valid')
})

t.test('patterns match the same texts in the observer and in JavaScript', async (t) => {
  const pairs = fc
    .sample(fc.tuple(PLAIN_PATTERNS, TEXTS), { numRuns: 60_000, seed: 1 })
    .map(([tokens, text]) => [tokens.join(''), text.join('')] as const)
    .filter(([pattern]) => problemOfTargetCommand(pattern) === undefined)
  const said = answers(pairs)
  const differing = pairs.filter(
    ([pattern, text], at) => asBytes(pattern).test(latin1(text)) !== (said[at] === '1'),
  )
  t.strictSame(differing.slice(0, 20), [])
  t.ok(said.includes('1') && said.includes('0'), 'some texts match, and others do not match')
})
