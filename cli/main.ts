#!/usr/bin/env node
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
import { EXIT, UsageError } from './shared/errors.ts'
import { helpLayout, programHelpEnd } from './shared/help.ts'
import { outputOfCommander, print, say } from './shared/output.ts'
import { programName, wordsToComplete } from './shared/program-name.ts'
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

// A reader such as `head` may close the output early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  say(`cannot write to standard output: ${error.message}`)
  process.exit(EXIT.trouble)
})

/**
 * Builds the command line. The action of a verb imports the implementation, runs it with the
 * options, and prints the result.
 */
function buildProgram(): Command {
  const name = programName(process.argv[1])
  const program = new Command(name)
    .description('Add observers to pods that operators create, and read the results of observers.')
    .version(manifest.version)
    .configureHelp(helpLayout)
    .configureOutput(outputOfCommander)
    .addHelpText('after', programHelpEnd(name))
    .exitOverride()
  for (const declare of VERBS) declare(program)
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

/** Prints the completions of a command line, for a shell or kubectl. */
async function printCompletion(words: readonly string[]): Promise<void> {
  const { complete, formatCompletion } = await import('./completion/complete.ts')
  const metricNames = async () => {
    const { loadCatalog } = await import('../src/catalog/load.ts')
    return [...(await loadCatalog({})).metrics.keys()]
  }
  print({ document: formatCompletion(await complete(buildProgram(), words, metricNames)) })
}

try {
  const words = wordsToComplete(process.argv)
  if (words === undefined) await buildProgram().parseAsync()
  else await printCompletion(words)
} catch (error) {
  process.exitCode = EXIT.trouble
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.trouble
  else if (error instanceof UsageError) error.sentences.forEach(say)
  else say(`internal error: ${errorMessage(error)}`)
}
