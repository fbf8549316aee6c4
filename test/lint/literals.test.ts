import t from 'tap'
import { findLiteralProblems } from './literals.ts'

const problemsOf = (text: string) =>
  findLiteralProblems({ path: 'src/a.ts', text }).map(({ line, message }) => `${line}: ${message}`)
const calls = (count: number) => 'call()\n'.repeat(count)
const numbers = (count: number) => `[\n${'1,\n'.repeat(count)}]`

t.test('a function has at most 40 lines', async (t) => {
  t.strictSame(problemsOf(`\nfunction a() {\n${calls(40)}}\n`), [])
  t.strictSame(problemsOf(`\nfunction a() {\n${calls(41)}}\n`), [
    '2: the function has 41 lines without data; divide it, so that it has 40',
  ])
})

t.test('the lines of data in a function do not count', async (t) => {
  t.strictSame(
    problemsOf(`const a = () => {\nconst b = { c: ${numbers(99)} }\n\n// d\n${calls(39)}}\n`),
    [],
  )
  const withMethod = `const a = () => {\nreturn { b() {\n${calls(41)}}, c: 1 }\n}\n`
  t.equal(problemsOf(withMethod).length, 1)
})

t.test('a literal is not spread into another one', async (t) => {
  for (const [text, count] of [
    ['const a = { ...{ b, c }, d }\n', 1],
    ["const a = [\n...['b'],\n...['c'],\n]\n", 2],
    ['const a = { ...b, ...(c ? { d } : {}), ...[e][0] }\n', 0],
    ['const a = [...b, ...(c ? [d] : [])]\n', 0],
    ['call(...[a, b])\n', 0],
  ] as const)
    t.equal(problemsOf(text).length, count, text)
})
