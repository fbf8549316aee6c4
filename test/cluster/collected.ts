import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { PageData } from '../../src/runs/report/data.ts'
import type { FindingsDocument } from '../../src/runs/report/document/findings-document.ts'
import { run } from '../cli/command.ts'
import { dataOf } from '../src/runs/report/data-of.ts'
import type { Cluster } from './machine/cluster.ts'
import { until } from './until.ts'

/** The output of `ridealong collect` and of `ridealong report`. */
export interface Collected {
  /** The lines of the output of `collect`. */
  // biome-ignore lint/suspicious/noExplicitAny: the columns depend on the metric.
  readonly rows: readonly any[]
  /** The file of these lines, which is removed when the test ends. */
  readonly file: string
  /** The data in the page of `report`. */
  readonly page: PageData
}

/**
 * Collects the logs of a workload, KIND/NAME, and makes a report of the rows, with the command.
 * Checks that `report KIND/NAME`, which collects the logs itself, reads as many logs.
 */
export async function collect(
  t: Test,
  { kubeconfig }: Cluster,
  namespace: string,
  workload: string,
): Promise<Collected> {
  const folder = t.testdir({})
  const [rows, page] = [join(folder, 'rows.jsonl'), join(folder, 'page.html')]
  const from = ['-n', namespace, '--kubeconfig', kubeconfig]
  const { code, err } = await run(['collect', workload, ...from, '--to', rows])
  t.equal(code, 0, err)
  t.equal((await run(['report', rows, '--to', page])).code, 0)
  const lines = readFileSync(rows, 'utf8').trimEnd().split('\n')
  const data = dataOf(readFileSync(page, 'utf8'))
  const direct = await run(['report', workload, ...from, '-o', 'json'])
  t.equal(direct.code, 0, direct.err)
  const { logs }: FindingsDocument = JSON.parse(direct.out)
  t.equal(logs, data.logs, `report ${workload} reads the same logs`)
  return { rows: lines.map((line) => JSON.parse(line)), file: rows, page: data }
}

/** Waits until `report KIND/NAME` reports on two pods of a run that goes on. */
export async function reportSoFar(
  { kubeconfig }: Cluster,
  namespace: string,
  workload: string,
): Promise<void> {
  const from = ['-n', namespace, '--kubeconfig', kubeconfig]
  let last = ''
  const isShown = async () => {
    const { code, out, err } = await run(['report', workload, ...from, '--to', '-'])
    last = `exit code ${code}: ${err}${out}`
    return code === 0 && /\nHas taken \d.* so far on 2 (?:pods|MPI ranks in 2 pods)\. /.test(out)
  }
  try {
    await until(`report ${workload} shows the run so far`, isShown)
  } catch (error) {
    throw new Error(last, { cause: error })
  }
}
