import { type Command, Option } from 'commander'
import type { Unit } from '../../report/data.ts'
import { examples } from '../shared/options.ts'
import { print } from '../shared/output.ts'

const UNITS = ['auto', 'process', 'program'] as const satisfies readonly Unit[]

/** Declares the verb `report`. */
export function declareReport(program: Command): void {
  program
    .command('report')
    .description('make one HTML page of collected logs, which works offline and prints')
    .argument('<file...>', 'what collect wrote (jsonl), or logs of observers; - is standard input')
    .option('--to <file>', 'the page (default: standard output)')
    .option('--title <text>', 'the title of the page')
    .addOption(new Option('--by <unit>', 'a line of the plots').choices(UNITS).default('auto'))
    .addHelpText(
      'after',
      examples(
        'report lammps.jsonl --to lammps.html',
        'report logs/*.log --title "LAMMPS on 64 nodes" --to lammps.html',
        'report - < perf-sysstat.log > page.html',
      ),
    )
    .action(async (files, options) => (await import('./report.ts')).report(files, options, print))
}
