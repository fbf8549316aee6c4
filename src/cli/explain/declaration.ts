import { type Command, Option } from 'commander'
import { OUTPUT_FORMATS } from '../../lib/output-format.ts'
import { examples, withCluster, withNamespaces } from '../shared/options.ts'
import { print } from '../shared/output.ts'

/** Declares the verb `explain`. */
export function declareExplain(program: Command): void {
  withCluster(withNamespaces(program.command('explain')))
    .description('say why a pod has observers, or has none: every rule in order')
    .argument('[what]', 'KIND/NAME in the cluster, as pod/lammps-0 or job/lammps')
    .option(
      '-f, --filename <file...>',
      'manifests, recorded AdmissionReviews or pods, a folder, or - for standard input',
    )
    .option(
      '-n, --namespace <name>',
      "where it is, or what does not say goes (default: the context's)",
    )
    .option('--namespaces <file>', "the Namespaces, in place of a cluster's")
    .option('--offline', 'ask no cluster about a file')
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration (default: found)')
    .addOption(
      new Option('-o, --output <form>', 'how to print').choices(OUTPUT_FORMATS).default('text'),
    )
    .addHelpText(
      'after',
      examples(
        'explain pod/lammps-0-x2x4k -n hpc',
        'explain minicluster/lammps -n hpc',
        'explain -f job.yaml -n hpc',
        'explain --offline -f review.json -o json | jq .[].reason',
      ),
    )
    .action(async (what, options) => {
      const [{ explain, exitCode }, { shown }] = await Promise.all([
        import('./explain.ts'),
        import('../../explain/show.ts'),
      ])
      const explanations = await explain(what, options)
      print(shown(explanations, options.output))
      process.exitCode = exitCode(explanations)
    })
}
