import type { Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { revisionOption, withCluster, withConfiguration, withOutput } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `doctor`. */
export function declareDoctor(program: Command, session: Session): void {
  withOutput(withConfiguration(withCluster(program.command('doctor'))))
    .description('check an installation, from its certificate to a dry run of a pod')
    .option(
      '-n, --namespace <name>',
      "the namespace for the dry run of a pod (default: the context's namespace)",
    )
    .addOption(revisionOption())
    .option('--certificate <file>', "the server's certificate, PEM (default: read from its Secret)")
    .option('--status-url <url>', "also check the server's status at this URL (http or tcp)")
    .addHelpText(
      'after',
      helpEnd({
        ok: 'the installation works',
        no: 'a check found a fault',
        trouble: 'no dry run was possible',
        examples: [
          'doctor',
          'doctor -n hpc -o json | jq .outcome',
          'doctor --status-url http://localhost:8080',
        ],
      }),
    )
    .action(async (options) => {
      const [{ doctor, exitCode }, { shown }] = await Promise.all([
        import('./doctor.ts'),
        import('../../src/pods/doctor/show.ts'),
      ])
      const checks = await doctor(options, session)
      session.print(shown(checks, options.output))
      session.exitCode = exitCode(checks)
    })
}
