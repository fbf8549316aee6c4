import type { Command } from 'commander'
import { EXIT } from './errors.ts'
import { examples, print, withCluster } from './options.ts'

// The verbs that speak to a cluster load its client when they are called: it takes 90 MB.

/** Declares the verb `doctor`. */
export function addDoctor(program: Command): void {
  withCluster(program.command('doctor').description('check that the apiserver gets answers'))
    .option('--status-url <url>', "the webhook's status port, to ask it too; http or tcp")
    .addHelpText('after', examples('doctor', 'doctor --status-url http://localhost:8080'))
    .action(async (options) => {
      const { doctor, linesOf } = await import('./doctor.ts')
      const findings = await doctor(options)
      print(linesOf(findings))
      const isGood = findings.every(({ problem }) => problem === undefined)
      process.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}

/** Declares the verb `disarm`. */
export function addDisarm(program: Command): void {
  withCluster(program.command('disarm').description('take away what would outlive an installation'))
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration, taken away first')
    .option('--cluster-role-binding <name>', 'the right to set the label, taken away next')
    .option('--namespace <name>', 'where the certificates are')
    .option('--certificate <name...>', 'a Certificate, and the Secret of its name, taken away last')
    .addHelpText('after', examples('disarm', 'disarm --webhook-configuration ridealong'))
    .action(async (options) => (await import('./disarm.ts')).disarm(options, print))
}
