import manifest from '../../../package.json' with { type: 'json' }
import type { ReportModel } from '../../../src/runs/report/data.ts'
import { podsOfRun } from '../../../src/runs/report/document/page-pods.ts'
import { renderPage } from '../../../src/runs/report/page.ts'
import { readAssets } from './page-assets.ts'

/**
 * Builds the page of a run, in parts.
 *
 * @param names the names of the logs or files that it is made from
 */
export async function buildRunPage(
  { page: data, run }: ReportModel,
  title: string,
  names: string,
): Promise<Iterable<string>> {
  const hasProfiles = data.profiles !== undefined
  const [style, script] = await readAssets(hasProfiles)
  const graphs = hasProfiles
    ? ' Flame graphs by d3-flame-graph (Apache-2.0) and D3 (ISC, BSD).'
    : ''
  const libraries = `Plots by uPlot (MIT).${graphs}`
  return renderPage({
    title,
    style,
    script,
    data,
    pods: podsOfRun(run),
    generator: `Made by ridealong ${manifest.version} from ${names}. ${libraries}`,
  })
}
