import { type Command, Option } from 'commander'
import { FORMAT_NAMES } from '../../src/runs/convert/format-names.ts'
import { helpEnd } from '../shared/help.ts'
import { withRows } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `convert`. */
export function declareConvert(program: Command, session: Session): void {
  withRows(program.command('convert'))
    .description(
      'convert a run to Parquet, or to the formats of speedscope, pprof, Perfetto and other tools',
    )
    .argument(
      '<file...>',
      'the output of collect, logs of observers, their folders, or run/NAME; - for standard input',
    )
    .addOption(
      new Option('--format <format>', 'the format (default: by the ending of --to)').choices(
        FORMAT_NAMES,
      ),
    )
    .option('--to <file>', 'the file to write, for parquet the folder (default: standard output)')
    .option('--catalog <dir>', 'a folder of metric documents, which describe the rows of logs')
    .addHelpText(
      'after',
      helpEnd({
        examples: [
          'convert lammps.jsonl --to lammps.speedscope.json',
          'convert lammps.jsonl --to lammps.trace.json',
          'convert lammps.jsonl --format parquet --to lammps',
          'convert logs/*.log --format collapsed | flamegraph.pl > lammps.svg',
        ],
      }),
    )
    .action(async (files, options) => {
      session.keepHeapSmall()
      const { convert } = await import('./convert.ts')
      await convert(files, options, session)
    })
}
