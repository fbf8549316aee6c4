/**
 * `npm run bench:archive` measures the archive in a simulated cluster: how far it is behind while
 * many runs end, its memory, the size of the Runs in etcd, and the cost of pods without observers.
 * The control plane is a real Kubernetes. kwok simulates the nodes, and the archive runs with the
 * rights and the memory limit of the chart. The absolute figures depend on the machine, because all
 * parts run on one machine.
 */
import { Command, InvalidArgumentError } from 'commander'
import { deferred, print, say } from '../ending.ts'
import { runBench } from '../run-bench.ts'
import { measure } from './measure.ts'
import { findExceeded, render } from './summary.ts'

/** The number of pods of the large run: the most pods of a run that are tested. */
const LARGE = 4096
const RUNS = 10_000

interface Options {
  readonly runs: number
  readonly pods: number
}

async function bench({ runs, pods }: Options): Promise<void> {
  // In a short measurement, it must not be most of the work.
  const large = Math.min(LARGE, 2 * runs)
  const ending = deferred()
  try {
    const measured = await measure({ runs, large, bystanders: pods }, say, ending.defer)
    print(render(measured))
    const exceeded = findExceeded(measured)
    for (const sentence of exceeded) print(`Exceeded: ${sentence}.`)
    if (exceeded.length > 0) process.exitCode = 1
  } finally {
    await ending.clean()
  }
}

const readCount = (least: number) => (text: string) => {
  const count = Number(text)
  if (Number.isInteger(count) && count >= least && count <= 100_000) return count
  throw new InvalidArgumentError(`Use a number from ${least} to 100000.`)
}

const program = new Command('bench:archive')
  .description('measure the archive in a large simulated cluster')
  .option('--runs <number>', 'the number of runs', readCount(40), RUNS)
  .option('--pods <number>', 'the number of pods without observers', readCount(1), 50_000)
  .addHelpText(
    'after',
    `
Exit codes: 0, or 1 if a figure is above its limit, or 2 on an error.

Examples:
  $ npm run bench:archive
  $ npm run bench:archive -- --runs 500 --pods 2000`,
  )

await runBench(program, bench)
