import { createHash } from 'node:crypto'
import type { PageBundle, PageEntry } from '../../../build/bundle-page.ts'
import type { Asset } from '../../../src/runs/html-document.ts'
import { loadPageBundle } from './page-bundles.ts'

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
  const known = bundles.get(entry) ?? loadPageBundle(entry)
  bundles.set(entry, known)
  return known
}

function buildAsset(text: string): Asset {
  return { text, sha256: createHash('sha256').update(text).digest('base64') }
}
