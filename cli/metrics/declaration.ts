import { type Command, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { withCatalogOfCluster } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `metrics`. */
export function declareMetrics(program: Command, session: Session): void {
  withCatalogOfCluster(
    program
      .command('metrics')
      .description('list the metrics of the catalog, or the options of one metric'),
  )
    .argument('[metric]', 'show the options of this metric')
    .option(
      '-n, --namespace <name>',
      "show the metrics for the pods of this namespace (default: the context's namespace)",
    )
    .addOption(
      new Option('-o, --output <format>', 'the output format')
        .choices(['table', 'yaml', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      helpEnd({ examples: ['metrics', 'metrics perf-sysstat', 'metrics -o json'] }),
    )
    .action(async (name, options) =>
      session.print(await (await import('./metrics.ts')).metrics(name, options, session)),
    )
}
