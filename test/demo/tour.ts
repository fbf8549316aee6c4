import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../cli/run-command.ts'
import type { Host } from '../../cli/shared/host.ts'
import { createPrinter } from '../../cli/shared/output.ts'
import { reviewFile } from '../cases/read.ts'
import { createHost } from '../cli/host.ts'

/** The recorded pod whose change is shown: it has the annotation `ridealong.dev/inject: "true"`. */
const POD = reviewFile('pod-inject-true')
/** The number of lines of the change that are shown, from `FIRST` on. */
const LINES = 10
const FIRST = '+  shareProcessNamespace: true'
const RECORDINGS = fileURLToPath(new URL('recordings/', import.meta.url))
const PAGE = 'demo.html'

/**
 * Shows what people get, with the commands that print it: the change to a pod, and the reports of a
 * recorded run and of a recorded hang. Writes the page of the run into the current folder.
 *
 * @returns the exit code
 */
export async function showTour(host: Host): Promise<number> {
  const { print } = createPrinter(host)
  const say = (...lines: readonly string[]) => print({ lines })
  const name = (path: string) => relative('', path)
  say(
    'Ridealong adds an observer to a pod with the annotation ridealong.dev/inject: "true":',
    '',
    `$ ridealong review ${name(POD)} -o diff`,
  )
  const { code, diff, more } = await changeOf(POD)
  print({ diff })
  say(`  ... and ${more} more lines`, '')
  const run = `${RECORDINGS}lammps`
  say(
    'A recorded run of LAMMPS, in which one rank has twice the work of the other:',
    '',
    `$ ridealong report ${name(run)} --to ${PAGE}`,
  )
  const lammps = await runCommand(['report', run, '--to', PAGE], host)
  const hang = `${RECORDINGS}hang`
  say('', 'A recorded job that hangs:', '', `$ ridealong report ${name(hang)}`)
  const hung = await runCommand(['report', hang], host)
  say(
    '',
    `The page of the run of LAMMPS: ${resolve(PAGE)}`,
    'All decisions of the webhook: npm run demo -- --all',
    'All verbs of the command: npm run ridealong -- --help',
  )
  return Math.max(code, lammps, hung)
}

/** Returns the first added lines of the change to a recorded pod, and the number of the others. */
async function changeOf(file: string) {
  const host = createHost()
  const code = await runCommand(['review', file, '-o', 'diff'], host)
  const added = host
    .out()
    .split('\n')
    .filter((line) => line.startsWith('+') && !line.startsWith('+++'))
  const first = added.indexOf(FIRST)
  return { code, diff: added.slice(first, first + LINES), more: added.length - LINES }
}
