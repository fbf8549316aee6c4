import type { Command } from 'commander'
import { examples, withCluster } from '../shared/options.ts'
import { printLine } from '../shared/output.ts'

/** Declares the verb `disarm`. */
export function declareDisarm(program: Command): void {
  withCluster(program.command('disarm').description('take away what would outlive an installation'))
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration, taken away first')
    .option('--cluster-role-binding <name>', 'the right to set the label, taken away next')
    .option('--namespace <name>', 'where the certificates are')
    .option('--certificate <name...>', 'a Certificate, and the Secret of its name, taken away last')
    .addHelpText('after', examples('disarm', 'disarm --webhook-configuration ridealong'))
    .action(async (options) => (await import('./disarm.ts')).disarm(options, printLine))
}
