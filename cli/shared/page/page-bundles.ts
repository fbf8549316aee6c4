import type { PageBundle, PageEntry } from '../../../build/bundle-page.ts'

/**
 * Bundles the modules of a page, which takes a second. The built command has
 * build/replacements/page-bundles.ts in place of this module, and does not contain esbuild.
 */
export async function loadPageBundle(entry: PageEntry): Promise<PageBundle> {
  const { bundlePage } = await import('../../../build/bundle-page.ts')
  return bundlePage(entry)
}
