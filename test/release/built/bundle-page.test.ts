import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundlePage, writePages } from '../../../build/bundle-page.ts'

t.test('a bundle begins with the licences of exactly the libraries in it', async (t) => {
  const licences = (script: string) =>
    [...script.matchAll(/^\/\* ([\w-]+)$/gm)].map(([, name]) => name)
  const [plain, profiles] = [await bundlePage('main'), await bundlePage('main-with-profiles')]
  t.strictSame(licences(plain.script), ['uplot'])
  t.match(licences(profiles.script), ['d3-array', 'd3-color', 'd3-dispatch'])
  t.ok(licences(profiles.script).includes('d3-flame-graph'))
  t.match(plain.script, /^\/\* uplot\nThe MIT License/)
})

t.test('a bundle has the style sheets that its modules import', async (t) => {
  const [plain, profiles] = [await bundlePage('main'), await bundlePage('main-with-profiles')]
  t.match(plain.style, /\.uplot/)
  t.notMatch(plain.style, /\.d3-flame-graph/)
  t.match(profiles.style, /\.d3-flame-graph/)
})

t.test('the package has the same bundles as the repository', async (t) => {
  const folder = join(t.testdir(), 'page')
  await writePages(folder)
  t.strictSame(readdirSync(folder).sort(), [
    'comparison.css',
    ...['main-with-profiles.css', 'main-with-profiles.js', 'main.css', 'main.js'],
    ...['runs.css', 'runs.js'],
  ])
  const { script, style } = await bundlePage('main')
  t.equal(readFileSync(join(folder, 'main.js'), 'utf8'), script)
  t.equal(readFileSync(join(folder, 'main.css'), 'utf8'), style)
})
