/**
 * `npm run bench:scale` measures Ridealong in a large simulated cluster, and how each figure grows
 * from a tenth of that size. The control plane is a real Kubernetes. kwok simulates the nodes, and
 * two replicas of the webhook run with the rights and the memory limit of the chart. The absolute
 * figures depend on the machine, because all parts run on one machine.
 */
import { Command, InvalidArgumentError } from 'commander'
import { deferred, print, say } from './ending.ts'
import { compareFigures, renderRows } from './figures.ts'
import { type Measurement, measure } from './measure.ts'
import { runBench } from './run-bench.ts'
import { sizeOf } from './size.ts'
import { describeConditions, figuresOf, renderDetails } from './summary.ts'

const { defer, clean } = deferred()

interface Options {
  readonly scale: number
  readonly from?: number
  readonly json: boolean
}

async function bench({ scale, from = scale / 10, json }: Options): Promise<void> {
  const measured: Measurement[] = []
  for (const each of [from, scale]) {
    try {
      measured.push(await measure(sizeOf(each), say, defer))
    } finally {
      await clean()
    }
  }
  const [small = [], large = []] = measured.map(figuresOf)
  const rows = compareFigures(small, large)
  if (json) print(JSON.stringify({ sizes: measured.map(({ size }) => size), rows }, undefined, 2))
  else {
    print(`${describeConditions()}\n`)
    for (const each of measured) print(`${renderDetails(each)}\n`)
    print(renderRows(rows))
  }
  if (rows.some(({ problem }) => problem !== undefined)) process.exitCode = 1
}

/** A measurement of a smaller cluster ends before the second scan, so it has no share of scans. */
const MIN = 0.05
/** The scale of a cluster with one node. */
const MIN_FROM = 0.001

const readScale = (least: number) => (text: string) => {
  const scale = Number(text)
  if (scale >= least && scale <= 10) return scale
  throw new InvalidArgumentError(`Use a number from ${least} to 10.`)
}

const program = new Command('bench:scale')
  .description('measure a large simulated cluster, and the growth from a smaller one')
  .option('--scale <number>', '1: 1000 nodes, 10000 namespaces and 50000 pods', readScale(MIN), 1)
  .option(
    '--from <number>',
    'the scale of the smaller cluster (default: a tenth)',
    readScale(MIN_FROM),
  )
  .option('--json', 'print the table as JSON', false)
  .addHelpText(
    'after',
    `
Exit codes: 0, or 1 if a figure grows faster than its work or is above its limit, or 2 on an error.

Examples:
  $ npm run bench:scale
  $ npm run bench:scale -- --scale 0.1 --from 0.02`,
  )

await runBench(program, bench)
