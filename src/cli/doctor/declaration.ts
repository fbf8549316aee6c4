import { type Command, Option } from 'commander'
import { OUTPUT_FORMATS } from '../../lib/output-format.ts'
import { examples, withCluster } from '../shared/options.ts'
import { print } from '../shared/output.ts'

/** Declares the verb `doctor`. */
export function declareDoctor(program: Command): void {
  withCluster(program.command('doctor'))
    .description('check an installation, from its certificate to a pod that asks')
    .option(
      '-n, --namespace <name>',
      "where a pod that asks is tried, and not kept (default: the context's)",
    )
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration (default: found)')
    .option(
      '--certificate <file>',
      "the server's certificate, PEM (default: read from its Secret, which also has the key)",
    )
    .option('--status-url <url>', "the webhook's status port, to ask it too; http or tcp")
    .addOption(
      new Option('-o, --output <form>', 'how to print').choices(OUTPUT_FORMATS).default('text'),
    )
    .addHelpText(
      'after',
      examples(
        'doctor',
        'doctor -n hpc -o json | jq .outcome',
        'doctor --status-url http://localhost:8080',
      ),
    )
    .action(async (options) => {
      const [{ doctor, exitCode }, { shown }] = await Promise.all([
        import('./doctor.ts'),
        import('../../doctor/show.ts'),
      ])
      const checks = await doctor(options)
      print(shown(checks, options.output))
      process.exitCode = exitCode(checks)
    })
}
