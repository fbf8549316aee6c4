import { made } from '../../report/page/elements.ts'
import type { StoredRun } from '../listed-run.ts'

/** Returns the name of a run as a link to its report, whose folder is beside this page. */
export function linkOf({ name, path, hasPage }: StoredRun): HTMLElement {
  if (!hasPage) return made('span', name)
  const link = made('a', name)
  link.href = `./${encodeURI(path)}/report.html`
  return link
}
