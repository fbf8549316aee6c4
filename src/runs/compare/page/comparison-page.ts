import { escapeHtml } from '../../../core/text/html.ts'
import type { TextBlock, TextCell, TextTable } from '../../../lib/output-format.ts'
import { type Asset, beginDocument } from '../../html-document.ts'
import type { Verdict } from '../change.ts'
import type { RunComparison } from '../comparison.ts'
import { formatComparison, type Lengths } from '../text.ts'

/** The most rows of the tables: a page has more room than a terminal. */
const LONG: Lengths = { quantities: 60, lists: 40 }

export interface ComparisonPageParts {
  readonly title: string
  readonly style: Asset
  readonly comparison: RunComparison
  /** The text of the footer, which names the program that generated the page. */
  readonly generator: string
}

/** Returns a page with the same sentences and tables as in a terminal. It has no script. */
export function renderComparison({
  title,
  style,
  comparison,
  generator,
}: ComparisonPageParts): string {
  return `${beginDocument({ title, style })}<header>
<h1>${escapeHtml(title)}</h1>
</header>
<main>
${formatComparison(comparison, LONG).map(blockHtml).join('\n')}
</main>
<footer>${escapeHtml(generator)}</footer>
</body>
</html>
`
}

function blockHtml(block: TextBlock, index: number): string {
  if (typeof block === 'object' && 'rows' in block) return tableHtml(block, index)
  const { text, tone } = cellOf(block)
  if (text === '') return ''
  if (tone === 'heading') return `<h2>${escapeHtml(text)}</h2>`
  return `<p${classOf(tone)}>${escapeHtml(text.trim())}</p>`
}

/**
 * Returns a table. A wide one scrolls by itself, also with the keyboard, so it is a region, whose
 * name must be unique on the page.
 */
function tableHtml({ rows, hasTitles = false }: TextTable, index: number): string {
  const [titles, others] = hasTitles ? [rows[0] ?? [], rows.slice(1)] : [[], rows]
  const head = titles.map(titleHtml).join('')
  const body = others.map(rowHtml).join('\n')
  return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${index}">
<table>${hasTitles ? `<thead><tr>${head}</tr></thead>` : ''}<tbody>
${body}
</tbody></table></div>`
}

/** Returns the title of a column. A column without a title has no header for screen readers. */
function titleHtml(cell: TextCell): string {
  const content = contentOf(cell)
  return content === '' ? '<td></td>' : `<th scope="col">${content}</th>`
}

function rowHtml([first = '', ...others]: readonly TextCell[]): string {
  const cells = others.map((cell) => {
    const isChange = REAL_CHANGES.includes(cellOf(cell).text)
    return `<td${classOf(isChange ? 'changed' : undefined)}>${contentOf(cell)}</td>`
  })
  return `<tr><th scope="row">${contentOf(first)}</th>${cells.join('')}</tr>`
}

/** The verdicts about a value that has really changed. */
const REAL_CHANGES: readonly string[] = ['more', 'less'] satisfies readonly Verdict[]

function classOf(tone: string | undefined): string {
  return tone === undefined ? '' : ` class="${tone}"`
}

function contentOf(cell: TextCell): string {
  return escapeHtml(cellOf(cell).text)
}

function cellOf(cell: TextCell): { readonly text: string; readonly tone?: string } {
  return typeof cell === 'string' ? { text: cell } : cell
}
