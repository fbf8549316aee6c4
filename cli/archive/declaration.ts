import { type Command, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import {
  duration,
  namespaceName,
  webUrl,
  wholeNumber,
  withCluster,
  withService,
} from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import { withBucket } from './bucket-options.ts'

const DAY_MS = 24 * 3_600_000

/** Declares the verb `archive`. */
export function declareArchive(program: Command, session: Session): void {
  const command = withService(withCluster(program.command('archive')))
    .description('write an object Run for each run of observed pods, until it is stopped')
    .addOption(
      new Option(
        '-n, --namespace <name...>',
        'watch only the pods of these namespaces (default: of all)',
      ).argParser((name, names: readonly string[] = []) => [...names, namespaceName(name)]),
    )
    .addOption(
      new Option('--keep <time>', 'delete Runs this time after the end of the run, such as 720h')
        .argParser(duration)
        .default(30 * DAY_MS, '720h'),
    )
    .option(
      '--keep-runs <number>',
      'the most Runs of a namespace; those that ended first are deleted',
      wholeNumber(1, 100_000),
      500,
    )
  withStorage(command)
    .addHelpText(
      'after',
      helpEnd({
        ok: 'the archive was stopped by SIGTERM or SIGINT',
        examples: [
          'archive',
          'archive -n hpc ml --keep 168h',
          'archive --storage /rows',
          'archive --storage /logs --bucket hpc-runs',
        ],
      }),
    )
    .action(async (options) => (await import('./archive.ts')).archive(options, session))
}

/** Adds the options for the place of logs and rows. */
function withStorage(command: Command): Command {
  return withBucket(
    command
      .option(
        '--storage <folder>',
        'read the logs of observers, and store the rows of each run that has ended in this folder',
      )
      .addOption(
        new Option(
          '--public-url <url>',
          'the URL at which a web server shows the storage; a Run then has the URL of its page',
        ).argParser(webUrl),
      ),
  )
}
