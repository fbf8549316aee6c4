import manifest from '../../../package.json' with { type: 'json' }
import { type RunsPageData, renderRunsPage } from '../../../src/runs/archive/runs-page.ts'
import { readRunsAssets } from './page-assets.ts'

/** Builds the page with the runs of a namespace, in parts. */
export async function buildRunsPage(data: RunsPageData): Promise<Iterable<string>> {
  const [style, script] = await readRunsAssets()
  const generator = `Made by ridealong ${manifest.version}. Plots by uPlot (MIT).`
  return renderRunsPage({ style, script, data, generator })
}
