import { type Command, Option } from 'commander'
import { OUTPUT_FORMATS } from '../lib/output-format.ts'
import { examples, withCluster, withNamespaces, withSettings } from './shared/options.ts'
import { print } from './shared/output.ts'

/** Declares the verb `explain`. */
export function addExplain(program: Command): void {
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
        import('./explain/explain.ts'),
        import('../explain/show.ts'),
      ])
      const explanations = await explain(what, options)
      print(shown(explanations, options.output))
      process.exitCode = exitCode(explanations)
    })
}

/** Declares the verb `attach`. */
export function addAttach(program: Command): void {
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
        import('./attach/attach.ts'),
        import('../attach/show.ts'),
      ])
      print(shown(await attach(pod, options), options.output))
    })
}
