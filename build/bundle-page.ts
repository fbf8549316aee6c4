import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type OutputFile } from 'esbuild'

/**
 * The main modules of the page of a run, without and with the section of profiles, and of the page
 * with the runs of a namespace, and the style sheet of the page of a comparison.
 */
const ENTRIES = {
  main: 'src/runs/report/page/main.ts',
  'main-with-profiles': 'src/runs/report/page/main-with-profiles.ts',
  runs: 'src/runs/archive/page/main.ts',
  comparison: 'src/runs/compare/page/comparison.css',
} as const

export type PageEntry = keyof typeof ENTRIES

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A bundle: a script, or an empty text, and the style sheets that its modules import. */
export interface PageBundle {
  readonly script: string
  readonly style: string
}

/** A bundle, and what esbuild says about its modules. */
interface BuiltPage extends PageBundle {
  readonly metafile: Metafile
}

/**
 * Bundles an entry with the libraries that it uses. The licence of each library
 * precedes the script.
 *
 * @throws Error with the messages of esbuild if a module is not valid
 */
export async function bundlePage(entry: PageEntry): Promise<BuiltPage> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, ENTRIES[entry])],
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
    metafile,
  }
}

/** Writes all bundles to a folder. Returns what esbuild says about their modules. */
export async function writePages(folder: string): Promise<readonly Metafile[]> {
  await mkdir(folder, { recursive: true })
  const write = async (entry: PageEntry) => {
    const { script, style, metafile } = await bundlePage(entry)
    if (script !== '') await writeFile(join(folder, `${entry}.js`), script)
    await writeFile(join(folder, `${entry}.css`), style)
    return metafile
  }
  return Promise.all((Object.keys(ENTRIES) as PageEntry[]).map(write))
}

/** Returns the text of the output with this ending; empty if there is none. */
function textOf(files: readonly OutputFile[], ending: string): string {
  return files.find(({ path }) => path.endsWith(ending))?.text ?? ''
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
