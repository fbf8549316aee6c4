import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** The relative targets of the links in a Markdown text, without their anchors. */
function linksIn(text: string): readonly string[] {
  const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !/^[a-z]+:/.test(target))
}

t.test('the threat model answers each of the 18 threats', async (t) => {
  const rows = [...read('docs/threat-model.md').matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm)]
  t.strictSame(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: 18 }, (_, index) => index + 1),
  )
  // What no webhook can prevent: these rows say what an administrator does.
  const untested = rows.filter(([, , , answer = '']) => !linksIn(answer).some(isTest))
  t.strictSame(
    untested.map(([, number]) => Number(number)),
    [5, 6, 16, 17],
  )
})

function isTest(target: string): boolean {
  return /(\.test\.ts|_test\.yaml)$/.test(target)
}

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'charts/ridealong/README.md',
].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
)

t.test('every file that a document links to exists', async (t) => {
  for (const document of DOCUMENTS) {
    for (const target of linksIn(read(document))) {
      t.ok(existsSync(join(ROOT, dirname(document), target)), `${document}: ${target}`)
    }
  }
  t.strictSame(linksIn('[a](b.md#c) [d](https://e.example) [f](#g)'), ['b.md'])
})
