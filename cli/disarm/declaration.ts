import type { Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { revisionOption, withCluster } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `disarm`. */
export function declareDisarm(program: Command, session: Session): void {
  withCluster(program.command('disarm'))
    .description('remove the objects that would outlive an installation; helm uninstall runs it')
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration to remove first')
    .option(
      '--cluster-role-binding <name>',
      'the ClusterRoleBinding to remove next: it allows the webhook to set ridealong.dev/armed',
    )
    .addOption(revisionOption())
    .option('--namespace <name>', 'the namespace of the certificates')
    .option(
      '--certificate <name...>',
      'Certificates to remove last, each with the Secret of the same name',
    )
    .option('--secret <name...>', 'other Secrets with certificates to remove last')
    .addHelpText(
      'after',
      [
        '',
        'The label ridealong.dev/armed is always removed from all namespaces of the',
        'revision.',
      ].join('\n'),
    )
    .addHelpText(
      'after',
      helpEnd({ examples: ['disarm', 'disarm --webhook-configuration zz-ridealong'] }),
    )
    .action(async (options) => (await import('./disarm.ts')).disarm(options, session))
}
