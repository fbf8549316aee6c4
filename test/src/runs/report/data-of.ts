import type { PageData } from '../../../../src/runs/report/data.ts'

/** Returns the data that the HTML of a page contains. */
export function dataOf(html: string): PageData {
  const [, json = ''] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? []
  return JSON.parse(json)
}
