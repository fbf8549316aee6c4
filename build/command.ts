import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { writePages } from './bundle-page.ts'
import { cutKubernetesClient } from './kubernetes-client.ts'
import { formatBillOfMaterials, formatLicences, packagesIn } from './packages.ts'
import { replaceModules } from './replaced-modules.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The program: a command line, and the modules of the threads that it starts. */
const ENTRIES = {
  main: 'cli/main.ts',
  'rows-worker': 'cli/archive/storage/rows-worker.ts',
  'progress-worker': 'cli/archive/service/progress-worker.ts',
} as const

/** The files that modules of the command read beside themselves. */
const COMPLETIONS = ['bash', 'fish', 'zsh'].map((shell) => `ridealong.${shell}`)

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'silent',
}

/**
 * Writes the command to a folder that needs nothing but Node: the program in few files, which start
 * faster than a thousand modules, the pages, and the list and the licences of the libraries.
 *
 * @throws Error with the messages of esbuild if a module is not valid
 */
export async function buildCommand(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const [program, pages] = await Promise.all([
    bundleProgram(folder),
    writePages(join(folder, 'pages')),
    bundleStart(folder),
  ])
  for (const file of COMPLETIONS)
    await copyFile(join(ROOT, 'cli/completion', file), join(folder, file))
  const packages = packagesIn(ROOT, [program, ...pages])
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  await writeFile(join(folder, 'ridealong.cdx.json'), formatBillOfMaterials(manifest, packages))
  await writeFile(join(folder, 'licences.txt'), formatLicences(packages))
}

/** All modules are beside each other: those that read a file look for it beside themselves. */
async function bundleProgram(folder: string): Promise<Metafile> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ENTRIES,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    splitting: true,
    target: 'node22.19',
    metafile: true,
    plugins: [cutKubernetesClient, replaceModules],
    // Libraries in CommonJS require modules of Node.
    banner: {
      js:
        "import { createRequire as createRequireOfBundle } from 'node:module'\n" +
        'const require = createRequireOfBundle(import.meta.url)',
    },
  })
  return metafile
}

/** The first file is read by versions of Node that cannot read the others. */
async function bundleStart(folder: string): Promise<void> {
  const outfile = join(folder, 'ridealong.cjs')
  await build({
    ...COMMON,
    entryPoints: ['cli/start/start.ts'],
    outfile,
    format: 'cjs',
    target: 'node10',
    // Node 10 can read an import(). Without this line, esbuild would replace it by require().
    supported: { 'dynamic-import': true },
    plugins: [mainBeside],
  })
  await chmod(outfile, 0o755)
}

const mainBeside: Plugin = {
  name: 'main-beside',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/main\.ts$/ }, () => ({ path: './main.mjs', external: true }))
  },
}
