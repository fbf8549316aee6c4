import { basename } from 'node:path'
import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { didYouMean } from '../src/core/text/similar.ts'
import { errorMessage } from '../src/lib/error-message.ts'
import { declareAnnotate } from './annotate/declaration.ts'
import { declareArchive } from './archive/declaration.ts'
import { declareAttach } from './attach/declaration.ts'
import { declareCollect } from './collect/declaration.ts'
import { declareCompare } from './compare/declaration.ts'
import { declareCompletion } from './completion/declaration.ts'
import { declareConvert } from './convert/declaration.ts'
import { declareDisarm } from './disarm/declaration.ts'
import { declareDoctor } from './doctor/declaration.ts'
import { declareExplain } from './explain/declaration.ts'
import { declareInject } from './inject/declaration.ts'
import { declareMetrics } from './metrics/declaration.ts'
import { declareRecord } from './record/declaration.ts'
import { declareReport } from './report/declaration.ts'
import { declareReview } from './review/declaration.ts'
import { declareRuns } from './runs/declaration.ts'
import { declareServe } from './serve/declaration.ts'
import { EXIT, type ExitCode, UsageError } from './shared/errors.ts'
import { helpLayout, programHelpEnd } from './shared/help.ts'
import type { Host } from './shared/host.ts'
import { outputOfCommander } from './shared/output.ts'
import { openSession, type Session } from './shared/session.ts'
import { declareStacks } from './stacks/declaration.ts'
import { declareTest } from './test/declaration.ts'
import { declareTop } from './top/declaration.ts'

/** The verbs, in the order of the help. */
const VERBS = [
  declareServe,
  declareReview,
  declareTest,
  declareRecord,
  declareMetrics,
  declareInject,
  declareAnnotate,
  declareExplain,
  declareAttach,
  declareTop,
  declareStacks,
  declareRuns,
  declareArchive,
  declareCollect,
  declareReport,
  declareCompare,
  declareConvert,
  declareDoctor,
  declareDisarm,
  declareCompletion,
] as const

/**
 * Runs a command line until its end. Calls in one process do not affect each other, except that
 * they share the current folder, the folder for temporary files and the heap, and that credential
 * plugins of kubeconfigs get the environment of the process.
 *
 * @param words the arguments after the name of the program
 * @returns the exit code
 */
export async function runCommand(words: readonly string[], host: Host): Promise<ExitCode> {
  const session = openSession(host)
  try {
    const toComplete = wordsToComplete(host.programPath, words)
    if (toComplete === undefined) await buildProgram(session).parseAsync(words, { from: 'user' })
    else await printCompletion(session, toComplete)
    return session.exitCode
  } catch (error) {
    return reportError(error, session)
  }
}

/** Says what went wrong, unless Commander has said it, and returns the exit code. */
function reportError(error: unknown, { say }: Session): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.trouble
  if (error instanceof UsageError) error.sentences.forEach(say)
  else say(`internal error: ${errorMessage(error)}`)
  return EXIT.trouble
}

/**
 * Builds the command line. The action of a verb imports the implementation, runs it with the
 * options, and prints the result.
 */
function buildProgram(session: Session): Command {
  const name = session.programName
  const program = new Command(name)
    .description('Add observers to pods that operators create, and read the results of observers.')
    .version(manifest.version)
    .configureHelp(helpLayout)
    .configureOutput(outputOfCommander(session))
    .addHelpText('after', programHelpEnd(name))
    .exitOverride()
  for (const declare of VERBS) declare(program, session)
  // Commander's own suggestions are words that have little in common: test for get.
  program.on('command:*', ([word = '']: readonly string[]) => {
    const suggestion = didYouMean(
      word,
      program.commands.map((verb) => verb.name()),
    )
    program.error(`error: unknown command '${word}'${suggestion}`)
  })
  return program
}

/**
 * The name of the program that kubectl runs to complete `kubectl ridealong` (kubectl
 * pkg/cmd/plugin/plugin_completion.go).
 */
const PLUGIN_COMPLETION = 'kubectl_complete-ridealong'

/** The first argument with which the completion scripts of the shells call the program. */
const COMPLETE = '__complete'

/**
 * Returns the words to complete if a shell or kubectl called the program for completion, otherwise
 * undefined.
 *
 * @param path the path of the program, before any link is followed
 */
function wordsToComplete(
  path: string,
  [first, ...words]: readonly string[],
): readonly string[] | undefined {
  if (basename(path) === PLUGIN_COMPLETION) return first === undefined ? [] : [first, ...words]
  return first === COMPLETE ? words : undefined
}

/** Prints the completions of a command line, for a shell or kubectl. */
async function printCompletion(session: Session, words: readonly string[]): Promise<void> {
  const { complete, formatCompletion } = await import('./completion/complete.ts')
  const metricNames = async () => {
    const { loadCatalog } = await import('../src/catalog/load.ts')
    return [...(await loadCatalog({})).metrics.keys()]
  }
  const completion = await complete(buildProgram(session), words, metricNames)
  session.print({ document: formatCompletion(completion) })
}
