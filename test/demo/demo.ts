/**
 * The demonstration, `npm run demo`: what people get. With `--all`, it starts the webhook, and
 * prints its decisions about all recorded reviews instead.
 */
import { parseArgs } from 'node:util'
import { createHost } from '../cli/host.ts'
import { showDecisions } from './decisions.ts'
import { showTour } from './tour.ts'

const { stdout, stderr, env: environment } = process
const host = { ...createHost({ environment }), stdout, stderr }
if (readFlags()) await showDecisions(host)
else process.exitCode = await showTour(host)

/** Reads `--all`. Any other argument ends the program with exit code 2. */
function readFlags(): boolean {
  try {
    return parseArgs({ options: { all: { type: 'boolean', default: false } } }).values.all
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nUsage: npm run demo [-- --all]\n`)
    process.exit(2)
  }
}
