import { type Command, Option } from 'commander'
import { OUTPUT_FORMATS } from '../../lib/output-format.ts'
import { examples, withCluster, withSettings } from '../shared/options.ts'
import { print } from '../shared/output.ts'

/** Declares the verb `attach`. */
export function declareAttach(program: Command): void {
  withCluster(withSettings(program.command('attach')))
    .description('observe a pod that already runs, with an ephemeral container')
    .argument('<pod>', 'its name')
    .requiredOption('--metric <name>', 'what is to be collected')
    .option('-n, --namespace <name>', "where the pod is (default: the context's)")
    .option('--target-container <name>', 'the container to observe')
    .option('--option <name=value...>', 'an option of the metric, as rate=5')
    .addOption(
      new Option('-o, --output <form>', 'how to print').choices(OUTPUT_FORMATS).default('text'),
    )
    .addHelpText(
      'after',
      [
        '',
        'An ephemeral container stays until its pod is gone. Where the pod shares no process namespace it is',
        "killed with its target's process 1, before it has closed its log: completions=N ends it by itself.",
      ].join('\n'),
    )
    .addHelpText(
      'after',
      examples(
        'attach lammps-0-x2x4k -n hpc --metric perf-sysstat',
        'attach db-0 --metric perf-sysstat --target-container db --option rate=1 completions=60',
      ),
    )
    .action(async (pod, options) => {
      const [{ attach }, { shown }] = await Promise.all([
        import('./attach.ts'),
        import('../../attach/show.ts'),
      ])
      print(shown(await attach(pod, options), options.output))
    })
}
