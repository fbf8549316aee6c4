import type { Command } from 'commander'
import { items, withManifests } from '../shared/manifest-options.ts'
import { printManifests } from '../shared/manifest-output.ts'
import { examples, withSettings } from '../shared/options.ts'

/** Declares the verb `annotate`. */
export function declareAnnotate(program: Command): void {
  withManifests(withSettings(program.command('annotate')))
    .description('write annotations where operators copy them to their pods')
    .requiredOption('--metric <name,...>', 'what is asked for', items)
    .addHelpText(
      'after',
      examples(
        'annotate -f minicluster.yaml --metric perf-sysstat | kubectl apply -f -',
        'annotate -f all.yaml --metric io-sysstat --annotation ridealong.dev/target-command=lmp',
        'annotate -f all.yaml --metric perf-sysstat --include Namespace',
      ),
    )
    .action(async (options) =>
      printManifests(await (await import('./annotate.ts')).annotate(options)),
    )
}
