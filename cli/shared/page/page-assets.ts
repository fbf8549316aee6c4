import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Asset } from '../../../src/runs/html-document.ts'
import type { PageBundle, PageEntry } from './bundle-page.ts'

/** Returns the style sheet of the page of a comparison. */
export async function readComparisonStyle(): Promise<Asset> {
  return buildAsset((await readBundle('comparison')).style)
}

/** Returns the style sheet and the script of the page with the runs of a namespace. */
export async function readRunsAssets(): Promise<readonly [Asset, Asset]> {
  const { style, script } = await readBundle('runs')
  return [buildAsset(style), buildAsset(script)]
}

/**
 * Returns the style sheet and the script of the page of a run, with the licences of the libraries.
 *
 * @param hasProfiles whether the page has a flame graph, which needs more libraries
 */
export async function readAssets(hasProfiles: boolean): Promise<readonly [Asset, Asset]> {
  const { style, script } = await readBundle(hasProfiles ? 'main-with-profiles' : 'main')
  return [buildAsset(style), buildAsset(script)]
}

const bundles = new Map<PageEntry, Promise<PageBundle>>()

/** Reads a bundle once: the archive writes many pages. */
function readBundle(entry: PageEntry): Promise<PageBundle> {
  const known = bundles.get(entry) ?? findBundle(entry)
  bundles.set(entry, known)
  return known
}

/**
 * Reads a bundle of the package. The repository has none: there, the modules of a page are bundled
 * each time that the program starts.
 */
async function findBundle(entry: PageEntry): Promise<PageBundle> {
  const [script, style] = ['js', 'css'].map((ending) =>
    fileURLToPath(new URL(`../../../src/runs/report/page/${entry}.${ending}`, import.meta.url)),
  ) as [string, string]
  if (!existsSync(style)) return (await import('./bundle-page.ts')).bundlePage(entry)
  return {
    script: existsSync(script) ? await readFile(script, 'utf8') : '',
    style: await readFile(style, 'utf8'),
  }
}

function buildAsset(text: string): Asset {
  return { text, sha256: createHash('sha256').update(text).digest('base64') }
}
