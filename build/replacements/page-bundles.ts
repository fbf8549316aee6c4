import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { PageBundle, PageEntry } from '../bundle-page.ts'

/** Reads a page's bundle, which was written beside the command when it was built. */
export async function loadPageBundle(entry: PageEntry): Promise<PageBundle> {
  const [script, style] = ['js', 'css'].map(
    (ending) => new URL(`./pages/${entry}.${ending}`, import.meta.url),
  ) as [URL, URL]
  return {
    script: existsSync(script) ? await readFile(script, 'utf8') : '',
    style: await readFile(style, 'utf8'),
  }
}
