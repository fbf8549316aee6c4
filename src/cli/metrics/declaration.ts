import { type Command, Option } from 'commander'
import { examples, withSettings } from '../shared/options.ts'
import { print } from '../shared/output.ts'

/** Declares the verb `metrics`. */
export function declareMetrics(program: Command): void {
  withSettings(program.command('metrics').description('show the catalog'))
    .argument('[name]', 'a metric, to see its options')
    .addOption(
      new Option('-o, --output <form>', 'how to print')
        .choices(['table', 'yaml', 'json'])
        .default('table'),
    )
    .addHelpText('after', examples('metrics', 'metrics perf-sysstat', 'metrics -o json'))
    .action(async (name, options) =>
      print(await (await import('./metrics.ts')).metrics(name, options)),
    )
}
