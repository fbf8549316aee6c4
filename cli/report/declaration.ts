import { type Command, Option } from 'commander'
import type { Unit } from '../../src/runs/report/data.ts'
import { helpEnd, RUN_HELP } from '../shared/help.ts'
import { withFollow, withRuns } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import { REPORT_FORMATS } from './formats.ts'

const UNITS = ['auto', 'process', 'program'] as const satisfies readonly Unit[]

/** Declares the verb `report`. */
export function declareReport(program: Command, session: Session): void {
  const command = withFollow(withRuns(program.command('report')))
    .description('say what held a run up, as text and on one HTML page with plots')
    .argument('<run...>', RUN_HELP)
  withOutput(command)
    .option('--title <text>', 'the title of the page')
    .option('--column <name...>', 'more columns of processes and devices to show')
    .addOption(
      new Option('--by <unit>', 'draw one line for each process or program')
        .choices(UNITS)
        .default('auto'),
    )
    .addHelpText('after', helpEnd({ no: 'a log of the run is missing', examples: EXAMPLES }))
    .action(async (words, options) => {
      session.keepHeapSmall()
      const { report } = await import('./report.ts')
      session.exitCode = await report(words, options, session)
    })
}

/** Adds the options for the output and its file. */
function withOutput(command: Command): Command {
  return command
    .addOption(
      new Option(
        '-o, --output <format>',
        'the output format; html is a page with plots, json and yaml have all its content ' +
          '(default: by the ending of --to, else text)',
      ).choices(REPORT_FORMATS),
    )
    .option(
      '--to <file>',
      'the file to write, such as lammps.html; the text is still printed (default: NAME.html for ' +
        'KIND/NAME, if the output is text)',
    )
    .option('--force', 'replace a file that is not a page of the same run')
    .option('--open', 'open the page in a browser')
}

const EXAMPLES = [
  'report job/lammps -n hpc',
  'report minicluster/lammps -n hpc --follow --open',
  'report lammps.jsonl --to lammps.html --open',
  'report run/lammps-e37d7975 -n hpc --rows /rows --to lammps.html',
  'report logs/*.log --title "LAMMPS on 64 nodes" --to lammps.html',
  'report - -o html < perf-sysstat.log > page.html',
  "report lammps.jsonl -o json | jq '.findings[].sentence'",
]
