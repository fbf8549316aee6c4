import { basename, join } from 'node:path'
import type { Plugin } from 'esbuild'
import { readBuiltIn } from '../src/catalog/built-in.ts'

/** Our modules that read files of the repository, for which the bundle has others. */
const BUILT_IN = /\/src\/catalog\/built-in\.ts$/
const PAGE_BUNDLES = /\/cli\/shared\/page\/page-bundles\.ts$/

/**
 * Replaces two modules that do at each start what can be done once, when the command is built: the
 * parsing of the built-in metrics, and the bundling of the pages.
 */
export const replaceModules: Plugin = {
  name: 'replace-modules',
  setup(build) {
    build.onLoad({ filter: BUILT_IN }, async () => ({ contents: await formatBuiltIn() }))
    build.onResolve({ filter: /\/page-bundles\.ts$/ }, ({ importer, path, resolveDir }) => {
      const isReplaced = PAGE_BUNDLES.test(join(resolveDir, path)) && importer !== ''
      const replacement = join(import.meta.dirname, 'replacements', basename(path))
      return isReplaced ? { path: replacement } : undefined
    })
  },
}

/** Returns a module with the valid documents of the built-in metrics. */
async function formatBuiltIn(): Promise<string> {
  const { metrics, defaults } = await readBuiltIn()
  const named = defaults && { ...defaults, path: basename(defaults.path) }
  const documents = JSON.stringify(JSON.stringify({ metrics, defaults: named }))
  return `const documents = JSON.parse(${documents})
export const readBuiltIn = async () => documents
`
}
