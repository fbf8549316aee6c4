import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { REMEDIES } from '../../src/explain/causes.ts'
import { run } from '../src/cli/command.ts'
import { textOf } from './pages.ts'

const README = textOf('README.md')

const REASONS_PAGE = textOf('docs/reasons.md')
const TROUBLESHOOTING = textOf('docs/troubleshooting.md')

/** Returns the cells of each row of the table with this header. */
function rowsUnder(header: string, page = README): string[][] {
  const [, table = ''] = page.split(`${header}\n`)
  const [rows = ''] = table.split('\n\n')
  return rows
    .split('\n')
    .slice(1)
    .map((row) => row.split('|').map((cell) => cell.trim()))
}

t.test('docs/reasons.md lists every reason with its properties', async (t) => {
  const listed = rowsUnder('| reason | meaning | in the status | can deny |', REASONS_PAGE)
  const yesOrNo = (fact: boolean) => (fact ? 'yes' : 'no')
  t.strictSame(
    listed.map((row) => row.slice(1, -1)),
    Object.entries(REASONS).map(([reason, { sentence, written, canDeny }]) => [
      `\`${reason}\``,
      sentence,
      yesOrNo(written),
      yesOrNo(canDeny),
    ]),
  )
})

t.test('the README lists every annotation that users can write', async (t) => {
  const listed = rowsUnder('| key | value | default |').map(([, key]) => key)
  const keys = [...Object.values(KEYS), 'METRIC.ridealong.dev/OPTION']
  t.strictSame(
    listed,
    keys.map((key) => `\`${key}\``),
  )
})

t.test('in the README, docker build and push of this version precede helm install', (t) => {
  const { version } = JSON.parse(textOf('package.json'))
  const places = [
    'docker build',
    `/$target:${version} .`,
    'docker push',
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

t.test('docs/troubleshooting.md lists every reason under the right heading', async (t) => {
  const [, written = '', silent = ''] = TROUBLESHOOTING.split(/^## The(?:re is| annotation) .*$/m)
  const reasonsOf = (text: string) =>
    [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, word]) => word)
  const known = Object.entries(REASONS)
  const words = (isWritten: boolean) =>
    known.filter(([, reason]) => reason.written === isWritten).map(([word]) => word)
  t.same(reasonsOf(written).sort(), words(true).sort())
  t.same(reasonsOf(silent).sort(), words(false).sort())
})

t.test('docs/troubleshooting.md gives the same advice as explain', async (t) => {
  const rows = [...TROUBLESHOOTING.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)]
  const plain = (text: string) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
  const written = rows.map(([, reason, remedy = '']) => [reason, plain(remedy)])
  t.strictSame(Object.fromEntries(written), REMEDIES)
})

t.test('docs/commands.md lists exactly the verbs of the program', async (t) => {
  const cells = rowsUnder('| verb | does |', textOf('docs/commands.md')).map(([, cell]) => cell)
  const listed = cells.map((cell = '') => cell.match(/^`([a-z]+)/)?.[1])
  const { out } = await run(['--help'])
  const [, commands = ''] = out.split('Commands:\n')
  const verbs = [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, verb]) => verb)
  t.strictSame(listed.toSorted(), verbs.filter((verb) => verb !== 'help').toSorted())
})
