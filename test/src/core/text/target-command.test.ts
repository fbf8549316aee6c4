import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { problemOfTargetCommand } from '../../../../src/core/text/target-command.ts'
import { asBytes, latin1 } from './pattern-of-bytes.ts'

t.test('a pattern of the documented grammar is valid', async (t) => {
  const right = [
    'lmp',
    '^(lmp|mdrun)$',
    'raylet|gcs_server',
    '^py.*',
    'a+b*c?',
    '[a-z_]{2,4}x{3}y{0,1}z{2,}',
    '[]a-][^]^-][[:alnum:].-]',
    '[^-0]',
    String.raw`\\\^\$\.\[\]\|\(\)\*\+\?\{\}`,
    'a}]b',
    '$(X) `;"/',
    'größe',
    '(ö)+',
    'a{255}',
    '(a{1,16}){1,16}',
    `${'('.repeat(32)}a${')'.repeat(32)}`,
  ]
  for (const pattern of right) t.equal(problemOfTargetCommand(pattern), undefined, pattern)
})

t.test('the problem of an invalid pattern states the valid form', async (t) => {
  const wrong: readonly (readonly [string, string])[] = [
    ['', '1 to 256 printable characters'],
    ['x'.repeat(257), '1 to 256 printable characters'],
    ['lmp(', String.raw`a ( has no matching ); write \( for the character`],
    ['lmp)', String.raw`at character 4, a ) has no matching (; write \) for the character`],
    ['()', 'empty'],
    ['a|', 'empty'],
    ['(|a)', 'empty'],
    ['*a', 'a quantifier must follow'],
    ['(?:a)', 'a quantifier must follow'],
    ['^*', 'a quantifier must follow'],
    ['a+?', 'no other quantifier'],
    [
      '🚀ö+',
      'at character 3, a quantifier must follow an ASCII character, a bracket expression or a' +
        ' group, and no other quantifier; put the repeated part in parentheses',
    ],
    [String.raw`(a)\1`, 'a \\ must precede one of'],
    [String.raw`\d`, 'a \\ must precede one of'],
    ['a\\', 'a \\ must precede one of'],
    ['a{', 'an interval must be {n}, {n,} or {n,m}'],
    ['a{,3}', 'an interval must be'],
    ['a{2,1}', 'an interval must be'],
    ['a{256}', 'numbers up to 255'],
    ['a{1,256}', 'numbers up to 255'],
    ['[a', 'a bracket expression must look like'],
    ['[]', 'a bracket expression must look like'],
    ['[^]', 'a bracket expression must look like'],
    ['[z-a]', 'a bracket expression must look like'],
    ['[a-c-e]', 'a bracket expression must look like'],
    ['[[.a.]]', 'a bracket expression must look like'],
    ['[[:word:]]', 'a bracket expression must look like'],
    [String.raw`[\]]`, 'a bracket expression must look like'],
    ['[ö]', 'a bracket expression must look like'],
    ['[a&&b]', 'a bracket expression must look like'],
    ['[a~~b]', 'a bracket expression must look like'],
    [`${'('.repeat(33)}a${')'.repeat(33)}`, 'at character 33, groups are nested more than 32 deep'],
  ]
  for (const [pattern, message] of wrong) {
    t.match(problemOfTargetCommand(pattern), message, pattern)
  }
})

t.test('a pattern is invalid if its expanded repetitions are too long', async (t) => {
  const wrong = [
    '((((a{1,255}){1,255}){1,255}){1,255})',
    '(a{1,16}){1,17}',
    '(a{16}){16}b',
    'a{255}|b{255}',
    'a{255,}b',
    // In glibc, each + doubles the tree that regcomp builds.
    `${'('.repeat(9)}a${'+)'.repeat(9)}`,
  ]
  for (const pattern of wrong) {
    t.match(problemOfTargetCommand(pattern), 'exceeds 256 characters', pattern)
  }
})

const TOKENS = [
  'a b ab c . .* \\. \\{ \\\\ ( ) (a ) | ^ $ * + ? {2} {1,3} {0} {2,}',
  '[ab] [^a] [a-c] []b] [^]] [a-] [[:alpha:]] [[:digit:][:punct:]x] } ] - & / " ö (ö) 1 _',
].flatMap((line) => line.split(' '))
const PATTERNS = fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 7 })
const TEXTS = fc.array(fc.constantFrom(...'aabbccö.{}]-&/"1_\\^'), { maxLength: 6 })

t.test(
  'a valid pattern matches the same texts in gawk and in JavaScript',
  { skip: skipped() },
  async (t) => {
    const cases = fc
      .sample(fc.tuple(PATTERNS, fc.array(TEXTS, { minLength: 8, maxLength: 8 })), {
        numRuns: 20_000,
        seed: 1,
      })
      .map(([tokens, texts]) => [tokens.join(''), texts.map((text) => text.join(''))] as const)
      .filter(([pattern]) => problemOfTargetCommand(pattern) === undefined)
    t.ok(cases.length > 2000, `the sample contains ${cases.length} valid patterns`)
    const pairs = cases.flatMap(([pattern, texts]) => texts.map((text) => [pattern, text] as const))
    const { stdout, stderr } = spawnSync('gawk', ['-F\t', '{ print ($2 ~ $1) }'], {
      input: pairs.map((pair) => `${pair.join('\t')}\n`).join(''),
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    })
    t.equal(stderr, '', 'gawk reports no error and no warning')
    const answers = stdout.trimEnd().split('\n')
    t.equal(answers.length, pairs.length)
    const differing = pairs.filter(
      ([pattern, text], at) => asBytes(pattern).test(latin1(text)) !== (answers[at] === '1'),
    )
    t.strictSame(differing, [])
  },
)

function skipped(): false | string {
  if (process.env.CI === 'true') return false
  return spawnSync('gawk', ['--version']).status === 0 ? false : 'needs gawk'
}
