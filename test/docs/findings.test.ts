import t from 'tap'
import { EXPLANATIONS, type Precedence, RULES } from '../../src/runs/findings/rules.ts'
import { CASES, findWith } from '../src/runs/findings/cases.ts'
import { PAGES, textOf } from './pages.ts'

// The pages of docs/findings describe every rule as it is, with an example that the rule makes.

const FINDINGS = PAGES.filter((page) => page.startsWith('docs/findings/')).map(textOf)
const inOneLine = (text: string) => text.replaceAll(/\s*\n>?\s*/g, ' ')

/** Returns the text under a heading of the second level, in one line. */
function textUnder(heading: string): string {
  const [, after = ''] = FINDINGS.join('\n').split(`\n## ${heading}\n`)
  return inOneLine(after.split(/^##? /m)[0] ?? '')
}

for (const { name, title, threshold, advice, adviceByCause = {} } of RULES) {
  t.test(`a page describes ${name}`, async (t) => {
    const text = textUnder(title)
    const { changes, options } = CASES[name]
    const [finding] = findWith(changes, options).findings
    t.match(text, `Rule: \`${name}\``)
    t.ok(text.includes(finding?.sentence ?? '?'), finding?.sentence ?? 'no finding')
    t.ok(text.toLowerCase().includes(threshold.condition.toLowerCase()), threshold.condition)
    t.ok(text.includes(threshold.source), threshold.source)
    for (const one of [advice, ...Object.values(adviceByCause)]) t.ok(text.includes(one), one)
  })
}

t.test('docs/findings/README.md has the order of precedence', async (t) => {
  const inCode = (names: readonly string[]) => names.map((one) => `\`${one}\``).join(', ')
  const cellsOf = ({ rules, of, because }: Precedence) => `${inCode(rules)} | ${of} | ${because} |`
  const rows = [...Map.groupBy(EXPLANATIONS, cellsOf)].map(([cells, own]) => {
    return `| ${inCode(own.map(({ by }) => by.name))} | ${cells}`
  })
  const [, table = ''] = textOf('docs/findings/README.md').split(
    '| finding | explains | of | because |\n| --- | --- | --- | --- |\n',
  )
  const [listed = ''] = table.trimEnd().split('\n\n')
  t.strictSame(listed.split('\n').sort(), rows.sort())
})
