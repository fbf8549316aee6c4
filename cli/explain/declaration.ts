import type { Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { withUnknownKinds } from '../shared/manifest-options.ts'
import { withCluster, withConfiguration, withNamespaces, withOutput } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `explain`. */
export function declareExplain(program: Command, session: Session): void {
  withUnknownKinds(
    withOutput(withConfiguration(withCluster(withNamespaces(program.command('explain'))))),
  )
    .description('explain why pods get observers or not: every rule in order')
    .argument('[object]', 'KIND/NAME in the cluster, for example pod/lammps-0 or job/lammps')
    .option(
      '-f, --filename <file...>',
      'manifests, AdmissionReviews or pods: files, a folder, or - for standard input',
    )
    .option(
      '-n, --namespace <name>',
      "the namespace of objects without a namespace (default: the context's namespace)",
    )
    .option('--namespaces <file>', 'a file of Namespaces to use instead of a cluster')
    .option('--offline', 'explain files without a cluster')
    .addHelpText(
      'after',
      helpEnd({
        ok: 'all pods get observers',
        no: 'a pod gets no observers, or pods of an object in the files are not known',
        examples: [
          'explain pod/lammps-0-x2x4k -n hpc',
          'explain minicluster/lammps -n hpc',
          'explain -f job.yaml -n hpc',
          'explain --offline -f review.json -o json | jq .[].reason',
        ],
      }),
    )
    .action(async (object, options) => {
      const [{ explain }, { shown }] = await Promise.all([
        import('./explain.ts'),
        import('../../src/pods/explain/show.ts'),
      ])
      const { explanations, exitCode } = await explain(object, options, session)
      session.print(shown(explanations, options.output))
      session.exitCode = exitCode
    })
}
