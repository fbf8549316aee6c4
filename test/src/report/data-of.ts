import type { PageData } from '../../../src/report/data.ts'

/** Returns the data of a page, from its source. */
export function dataOf(html: string): PageData {
  const [, json = ''] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? []
  return JSON.parse(json)
}
