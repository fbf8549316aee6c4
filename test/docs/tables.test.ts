import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { KEYS } from '../../src/core/keys.ts'
import { run } from '../cli/command.ts'
import { PAGE_TABLES, withPageTables } from './page-tables.ts'
import { textOf } from './pages.ts'

const README = textOf('README.md')

/** Returns the cells of each row of the table with this header. */
function rowsUnder(header: string, page = README): string[][] {
  const [, table = ''] = page.split(`${header}\n`)
  const [rows = ''] = table.split('\n\n')
  return rows
    .split('\n')
    .slice(1)
    .map((row) => row.split('|').map((cell) => cell.trim()))
}

for (const page of Object.keys(PAGE_TABLES)) {
  t.test(`the tables of ${page} are those of the program`, async (t) => {
    const text = textOf(page)
    t.equal(text, withPageTables(page, text), 'npm run docs:tables writes the tables')
  })
}

t.test('docs/annotate.md lists every annotation that users can write', async (t) => {
  const listed = rowsUnder('| key | value | default |', textOf('docs/annotate.md')).map(
    ([, key]) => key,
  )
  const keys = [...Object.values(KEYS), 'METRIC.ridealong.dev/OPTION']
  t.strictSame(
    listed,
    keys.map((key) => `\`${key}\``),
  )
})

t.test('the README has at most 170 lines, which people read to the end', async (t) => {
  t.ok(README.trimEnd().split('\n').length <= 170)
})

t.test('the README lists every built-in metric, and says which have a tool', async (t) => {
  const rows = rowsUnder('| metric | shows | needs | tried with |')
  const { metrics } = await loadCatalog({})
  const tools = [...metrics.values()].map(({ name, tool }) => [name, tool !== undefined])
  const listed = rows.map(([, metric = '', , needs = '']) => {
    return [/^\[`(.*?)`\]/.exec(metric)?.[1], /^a tool\b/.test(needs)]
  })
  t.strictSame(listed.toSorted(), tools.toSorted())
})

t.test('in the README, images of this version are built and loaded before helm install', (t) => {
  const { version } = JSON.parse(textOf('package.json'))
  const places = [
    'docker build',
    `/$target:${version} .`,
    'kind load docker-image',
    'helm install',
    'helm test',
  ]
  const found = places.map((words) => README.indexOf(words))
  t.notOk(found.includes(-1), `each command is in the README, at ${found.join(', ')}`)
  t.strictSame(
    found.toSorted((a, b) => a - b),
    found,
  )
  t.end()
})

t.test('docs/commands.md lists exactly the verbs of the program', async (t) => {
  const cells = rowsUnder('| verb | does |', textOf('docs/commands.md')).map(([, cell]) => cell)
  const listed = cells.map((cell = '') => cell.match(/^`([a-z]+)/)?.[1])
  const { out } = await run(['--help'])
  const [, commands = ''] = out.split('Commands:\n')
  const verbs = [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, verb]) => verb)
  t.strictSame(listed.toSorted(), verbs.filter((verb) => verb !== 'help').toSorted())
})
