import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { PAGES, REPOSITORY, textOf } from './pages.ts'

/** Returns the targets of a page's links and images, except web addresses. */
function targetsIn(page: string): string[] {
  const prose = textOf(page).replaceAll(/^```.*?^```$/gms, '')
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !/^[a-z]+:/.test(target))
}

/** Returns the anchors that GitHub creates from a page's headings. */
function anchorsIn(page: string): string[] {
  const headings = [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/**
 * Tells whether the target is a file of the repository and, with an anchor, a heading in this file.
 */
function leadsSomewhere(page: string, target: string): boolean {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? page : join(dirname(page), file)
  if (!existsSync(join(REPOSITORY, path))) return false
  return anchor === undefined || anchorsIn(path).includes(anchor)
}

t.test('the target of every link is an existing file and heading', async (t) => {
  for (const page of PAGES) {
    for (const target of targetsIn(page))
      t.ok(leadsSomewhere(page, target), `the target of the link to ${target} in ${page} exists`)
  }
})

t.test('docs/README.md links to every page for users and administrators', async (t) => {
  const listed = targetsIn('docs/README.md')
  const folders = ['', 'administer/', 'findings/']
  const pages = folders.flatMap((folder) =>
    readdirSync(join(REPOSITORY, 'docs', folder)).map((name) => `${folder}${name}`),
  )
  for (const page of pages.filter((name) => name.endsWith('.md') && name !== 'README.md'))
    t.ok(listed.includes(page), `docs/README.md links to ${page}`)
})

t.test('a page has at most 450 lines', async (t) => {
  for (const page of PAGES) {
    const lines = textOf(page).split('\n').length - 1
    t.ok(lines <= 450, `${page} has ${lines} lines`)
  }
})

t.test('each built-in metric has a page, to which docs/metrics/README.md links', async (t) => {
  const listed = targetsIn('docs/metrics/README.md')
  for (const name of (await loadCatalog({})).metrics.keys())
    t.ok(listed.includes(`${name}.md`), name)
})
