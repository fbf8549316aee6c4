import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type OutputFile } from 'esbuild'

/** The main modules of the page, without and with the section of profiles. */
export type PageEntry = 'main' | 'main-with-profiles'

const ENTRIES: readonly PageEntry[] = ['main', 'main-with-profiles']
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = fileURLToPath(new URL('../../src/runs/report/page/', import.meta.url))

/** A bundle: a script, and the style sheets that its modules import. */
export interface PageBundle {
  readonly script: string
  readonly style: string
}

/**
 * Bundles a main module of the page with the libraries that it uses. The licence of each library
 * precedes the script.
 *
 * @throws Error with the messages of esbuild if a module is not valid
 */
export async function bundlePage(entry: PageEntry): Promise<PageBundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(PAGE, `${entry}.ts`)],
    outdir: 'out',
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    logLevel: 'silent',
    // Otherwise esbuild escapes the characters of other languages.
    charset: 'utf8',
  })
  const licences = await Promise.all(librariesIn(metafile).map(readLicence))
  return {
    script: [...licences, textOf(outputFiles, '.js')].join('\n'),
    style: textOf(outputFiles, '.css'),
  }
}

/** Writes all bundles of the page to a folder, for the package. */
export async function writeBundles(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const entry of ENTRIES) {
    const { script, style } = await bundlePage(entry)
    await writeFile(join(folder, `${entry}.js`), script)
    await writeFile(join(folder, `${entry}.css`), style)
  }
}

function textOf(files: readonly OutputFile[], ending: string): string {
  const file = files.find(({ path }) => path.endsWith(ending))
  if (file === undefined) throw new Error(`esbuild wrote no file that ends in ${ending}`)
  return file.text
}

/** Returns the names of the packages whose modules are in the bundle, in alphabetical order. */
function librariesIn({ outputs }: Metafile): readonly string[] {
  const paths = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs))
  const names = paths.flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  )
  return [...new Set(names)].sort()
}

async function readLicence(name: string): Promise<string> {
  return `/* ${name}\n${await readFile(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8')}*/`
}

const [, program = '', folder] = process.argv
if (basename(program) === 'bundle-page.ts' && folder !== undefined) await writeBundles(folder)
