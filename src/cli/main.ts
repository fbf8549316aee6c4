#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { errorMessage } from '../lib/error-message.ts'
import { declareAnnotate } from './annotate/declaration.ts'
import { declareAttach } from './attach/declaration.ts'
import { declareCollect } from './collect/declaration.ts'
import { declareDisarm } from './disarm/declaration.ts'
import { declareDoctor } from './doctor/declaration.ts'
import { declareExplain } from './explain/declaration.ts'
import { declareInject } from './inject/declaration.ts'
import { declareMetrics } from './metrics/declaration.ts'
import { declareRecord } from './record/declaration.ts'
import { declareReport } from './report/declaration.ts'
import { declareReview } from './review/declaration.ts'
import { declareServe } from './serve/declaration.ts'
import { EXIT, UsageError } from './shared/errors.ts'
import { outputOfCommander, say } from './shared/output.ts'
import { programName } from './shared/program-name.ts'
import { declareTest } from './test/declaration.ts'

/** In the order of the help. */
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
  declareCollect,
  declareReport,
  declareDoctor,
  declareDisarm,
] as const

// Whoever reads the output may have enough of it, as `head` has: no fault, and nothing more to say.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  say(`cannot write what was asked for: ${error.message}`)
  process.exit(EXIT.trouble)
})

/** Builds the command line. Each verb is thin: it loads a function when it is called, hands it its options, and prints. */
function buildProgram(): Command {
  const program = new Command(programName(process.argv[1]))
    .description('Observers that ride along in pods another operator owns')
    .version(manifest.version)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(outputOfCommander)
    .exitOverride()
  for (const declare of VERBS) declare(program)
  return program
}

try {
  await buildProgram().parseAsync()
} catch (error) {
  process.exitCode = EXIT.trouble
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.trouble
  else if (error instanceof UsageError) error.sentences.forEach(say)
  else say(`a defect of ours: ${errorMessage(error)}`)
}
