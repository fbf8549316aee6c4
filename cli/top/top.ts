import { describeColumn, listColumnNames } from '../../src/runs/top/columns.ts'
import { EXIT, UsageError } from '../shared/errors.ts'
import { print, say } from '../shared/output.ts'
import { findWorkloadPods } from '../shared/workload-pods.ts'
import { runInteractive } from './interactive.ts'
import { type LiveRun, startLiveRun } from './live-run.ts'
import { runOnce } from './once.ts'
import { hasScreen } from './screen.ts'
import type { TopOptions } from './top-options.ts'

/**
 * Runs `ridealong top KIND/NAME`: shows the ranks of a run and what delays them.
 *
 * @returns the exit code: with `once`, EXIT.no if a log cannot be read, and EXIT.trouble if no log
 * can be read; otherwise EXIT.ok
 * @throws UsageError if the command line or the cluster has a problem, or there is no terminal
 */
export async function top(workload: string | undefined, options: TopOptions): Promise<number> {
  if (!options.once && options.output !== 'table')
    throw new UsageError(`--output ${options.output} needs --once`)
  if (!options.once && !hasScreen())
    throw new UsageError(
      'standard output is not a terminal that top can draw on; --once prints one table',
    )
  const found = await findWorkloadPods(workload, options)
  const names = options.column ?? []
  const known = listColumnNames(found.descriptions)
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined)
    throw new UsageError(
      `no metric of the catalog measures a column ${wrong}; the columns are ${known.join(', ')}`,
    )
  const run = startLiveRun(found.descriptions, names)
  run.take(found.pods)
  mustHaveColumns(run, options.sort)
  if (!options.once) {
    await runInteractive(found, run, options)
    return EXIT.ok
  }
  const { output, notices, code } = await runOnce(found, run, options)
  print(output)
  notices.forEach(say)
  return code
}

/** Checks that the observed metrics have columns, and that the column to sort by is one of them. */
function mustHaveColumns(run: LiveRun, sort: string | undefined): void {
  const columns = run.columns()
  if (columns.length === 0) {
    const metrics = run.undescribed().join(', ')
    throw new UsageError(`the catalog describes no column of the observed metrics: ${metrics}`)
  }
  if (sort === undefined || sort === 'rank') return
  if (columns.some(({ key }) => key === sort)) return
  const known = columns.map(describeColumn).join(', ')
  throw new UsageError(`there is no column ${sort} to sort by; the columns are rank, ${known}`)
}
