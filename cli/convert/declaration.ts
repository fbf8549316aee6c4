import { type Command, Option } from 'commander'
import { FORMAT_NAMES } from '../../src/runs/convert/format-names.ts'
import { helpEnd, RUN_HELP } from '../shared/help.ts'
import { withFollow, withRuns } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `convert`. */
export function declareConvert(program: Command, session: Session): void {
  withFollow(withRuns(program.command('convert')))
    .description(
      'convert a run to Parquet, or to the formats of speedscope, pprof, Perfetto and other tools',
    )
    .argument('<run...>', RUN_HELP)
    .addOption(
      new Option('--format <format>', 'the format (default: by the ending of --to)').choices(
        FORMAT_NAMES,
      ),
    )
    .option('--to <file>', 'the file to write, for parquet the folder (default: standard output)')
    .addHelpText(
      'after',
      helpEnd({
        no: 'a log of a run is missing',
        examples: [
          'convert job/lammps -n hpc --to lammps.trace.json',
          'convert lammps.jsonl --to lammps.speedscope.json',
          'convert lammps.jsonl --to lammps.trace.json',
          'convert lammps.jsonl --format parquet --to lammps',
          'convert logs/*.log --format collapsed | flamegraph.pl > lammps.svg',
        ],
      }),
    )
    .action(async (words, options) => {
      session.keepHeapSmall()
      const { convert } = await import('./convert.ts')
      session.exitCode = await convert(words, options, session)
    })
}
