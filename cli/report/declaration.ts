import { type Command, Option } from 'commander'
import type { Unit } from '../../src/runs/report/data.ts'
import { helpEnd } from '../shared/help.ts'
import { withRows } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import type { ReportFormat } from './report.ts'

const FORMATS = ['html', 'json'] as const satisfies readonly ReportFormat[]
const UNITS = ['auto', 'process', 'program'] as const satisfies readonly Unit[]

/** Declares the verb `report`. */
export function declareReport(program: Command, session: Session): void {
  withRows(program.command('report'))
    .description('say what held a run up, on one HTML page with plots, from collected logs')
    .argument(
      '<file...>',
      'the output of collect, logs of observers, their folders, or run/NAME; - for standard input',
    )
    .addOption(
      new Option('-o, --output <format>', 'a page with plots, or all its content as JSON')
        .choices(FORMATS)
        .default('html'),
    )
    .option('--to <file>', 'the file to write (default: standard output)')
    .option('--title <text>', 'the title of the page')
    .option('--catalog <dir>', 'a folder of metric documents, which describe the rows of logs')
    .option('--column <name...>', 'more columns of processes and devices to show')
    .addOption(
      new Option('--by <unit>', 'draw one line for each process or program')
        .choices(UNITS)
        .default('auto'),
    )
    .addHelpText(
      'after',
      helpEnd({
        examples: [
          'report lammps.jsonl --to lammps.html',
          'report run/lammps-e37d7975 -n hpc --rows /rows --to lammps.html',
          'report logs/*.log --title "LAMMPS on 64 nodes" --to lammps.html',
          'report - < perf-sysstat.log > page.html',
          "report lammps.jsonl -o json | jq '.findings[].sentence'",
        ],
      }),
    )
    .action(async (files, options) => {
      session.keepHeapSmall()
      await (await import('./report.ts')).report(files, options, session)
    })
}
