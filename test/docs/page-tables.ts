import { REASONS } from '../../src/core/reasons.ts'
import { SIDE_RULES } from '../../src/runs/compare/side-rules.ts'
import { END_RULES } from '../../src/runs/ends/run-completion.ts'
import { RUN_RULES } from '../../src/runs/input/different-runs.ts'
import { listColumns } from '../../src/runs/log/columns.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'

/** A table of a page: the line with its titles, and the cells of its rows. */
interface Table {
  readonly titles: string
  readonly rows: readonly (readonly string[])[]
}

const yesOrNo = (fact: boolean) => (fact ? 'yes' : 'no')

/** Returns the remedies of the reasons that the status annotation contains, or of the others. */
function remedies(isWritten: boolean): Table['rows'] {
  return Object.entries(REASONS).flatMap(([reason, { written, remedy }]) =>
    written === isWritten ? [[`\`${reason}\``, remedy]] : [],
  )
}

/** The tables that are made from the reasons and from the catalog, by the path of their page. */
export const PAGE_TABLES: Readonly<Record<string, readonly Table[]>> = {
  'docs/metrics/columns.md': [
    {
      titles: '| column | meaning |',
      rows: [...listColumns(BUILT_IN_ROWS)].map(([name, { meaning }]) => [`\`${name}\``, meaning]),
    },
  ],
  'docs/collect.md': [
    {
      titles: '| files are of several runs if |',
      rows: RUN_RULES.map(({ condition }) => [condition]),
    },
  ],
  'docs/compare.md': [
    {
      titles: '| a run did not finish if |',
      rows: END_RULES.map(({ condition }) => [condition]),
    },
    {
      titles:
        '| first condition that is true | first line of the output | exit code of `--fail-above` |',
      rows: SIDE_RULES.map(({ condition, said, exitCode }) => [condition, said, `${exitCode}`]),
    },
  ],
  'docs/reasons.md': [
    {
      titles: '| reason | meaning | leaves | in the status | can deny |',
      rows: Object.entries(REASONS).map(
        ([reason, { sentence, leavesMetric, written, canDeny }]) => {
          const left = leavesMetric === true ? 'the metric' : 'the pod'
          return [`\`${reason}\``, sentence, left, yesOrNo(written), yesOrNo(canDeny)]
        },
      ),
    },
  ],
  'docs/troubleshooting.md': [
    { titles: '| reason | what to do |', rows: remedies(true) },
    {
      titles: '| reason, in the log and in `ridealong_reviews_total` | what to do |',
      rows: remedies(false),
    },
  ],
}

/**
 * Returns the text of a page with its tables made anew.
 *
 * @throws if the text lacks a table
 */
export function withPageTables(page: string, text: string): string {
  return (PAGE_TABLES[page] ?? []).reduce(withTable, text)
}

function withTable(text: string, { titles, rows }: Table): string {
  const start = text.indexOf(`${titles}\n`)
  if (start < 0) throw new Error(`the page has no table with the titles ${titles}`)
  const [table = ''] = text.slice(start).trimEnd().split('\n\n')
  const end = start + table.length
  const separator = titles.replaceAll(/[^|]+/g, ' --- ')
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`)
  return text.slice(0, start) + [titles, separator, ...lines].join('\n') + text.slice(end)
}
