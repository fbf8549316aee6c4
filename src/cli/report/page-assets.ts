import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Asset } from '../../report/page.ts'

/** The own scripts of every page, in the order of their dependencies. */
const SCRIPTS = 'data colours filter table strip plots sections findings main'.split(' ')
/** The own scripts of a page with profiles, which follow the scripts of every page. */
const PROFILE_SCRIPTS = ['flame', 'profiles']
/** The own scripts of a page with calls of MPI, which also follow the scripts of every page. */
const MPI_SCRIPTS = ['mpi']
/** The modules of D3 that d3-flame-graph needs, in the order of their dependencies. */
const D3_MODULES =
  'array color dispatch ease format hierarchy interpolate scale selection time time-format timer ' +
  'transition'

/**
 * Reads the scripts and the style sheets of the page, with the licences of the libraries.
 *
 * @param hasProfiles whether the page has a flame graph, which needs more libraries
 * @param hasMpi whether the page has calls of MPI
 * @returns the style sheet and the script
 */
export async function readAssets(
  hasProfiles: boolean,
  hasMpi: boolean,
): Promise<readonly [Asset, Asset]> {
  const [uplot, libraries] = await Promise.all([
    readUplot(),
    hasProfiles ? readFlameLibraries() : NO_LIBRARIES,
  ])
  const names = [
    ...SCRIPTS,
    ...(hasProfiles ? PROFILE_SCRIPTS : []),
    ...(hasMpi ? MPI_SCRIPTS : []),
  ]
  const scripts = await Promise.all(names.map((name) => readOwn(`${name}.js`)))
  const sheets = hasProfiles ? ['page.css', 'profiles.css'] : ['page.css']
  const styles = await Promise.all(sheets.map(readOwn))
  return [
    buildAsset([uplot.style, ...libraries.styles, ...styles].join('\n')),
    buildAsset([...uplot.scripts, ...libraries.scripts, ...scripts].join('\n')),
  ]
}

function readOwn(name: string): Promise<string> {
  return readFile(new URL(`../../report/page/${name}`, import.meta.url), 'utf8')
}

const { resolve } = createRequire(import.meta.url)

async function readUplot() {
  const folder = dirname(resolve('uplot/package.json'))
  const [licence, library, style] = await Promise.all([
    readFile(join(folder, 'LICENSE'), 'utf8'),
    readFile(join(folder, 'dist', 'uPlot.iife.min.js'), 'utf8'),
    readFile(join(folder, 'dist', 'uPlot.min.css'), 'utf8'),
  ])
  return { style, scripts: [`/* uPlot\n${licence}*/`, library] }
}

interface Libraries {
  readonly styles: readonly string[]
  readonly scripts: readonly string[]
}

const NO_LIBRARIES: Libraries = { styles: [], scripts: [] }

async function readFlameLibraries(): Promise<Libraries> {
  const modules = D3_MODULES.split(' ').map((name) => `d3-${name}`)
  const d3 = await Promise.all(
    modules.map(async (name) => {
      // The packages export only their main module, which is in another folder next to `dist`.
      const folder = join(dirname(resolve(name)), '..')
      return licensed(name, folder, await readFile(join(folder, 'dist', `${name}.min.js`), 'utf8'))
    }),
  )
  const dist = dirname(resolve('d3-flame-graph'))
  const [graph, style] = await Promise.all([
    readFile(join(dist, 'd3-flamegraph.umd.min.js'), 'utf8'),
    readFile(join(dist, 'd3-flamegraph.css'), 'utf8'),
  ])
  const script = await licensed('d3-flame-graph', join(dist, '..'), withoutStyle(graph))
  return { styles: [style], scripts: [...d3.flat(), ...script] }
}

async function licensed(name: string, folder: string, script: string) {
  const licence = await readFile(join(folder, 'LICENSE'), 'utf8')
  return [`/* ${name}\n${licence}*/`, script]
}

/**
 * Returns a script that adds no style sheet to the page. The Content-Security-Policy would refuse
 * the style sheet that d3-flame-graph adds, so it is a part of the style sheet of the page. The
 * library uses `document` for nothing else.
 */
function withoutStyle(script: string): string {
  const none = '{ createElement: () => ({}), head: { appendChild: () => {} } }'
  return `(function (document) {\n${script}\n})(${none})`
}

function buildAsset(text: string): Asset {
  return { text, sha256: createHash('sha256').update(text).digest('base64') }
}
