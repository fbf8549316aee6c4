#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { errorMessage } from '../lib/error-message.ts'
import { addDisarm, addDoctor, addRecord } from './cluster-verbs.ts'
import { addCollect, addReport } from './log-verbs.ts'
import { addAnnotate, addInject } from './manifest-verbs.ts'
import { addAttach, addExplain } from './pod-verbs.ts'
import { addMetrics, addReview, addTest } from './review-verbs.ts'
import { addServe } from './serve-verb.ts'
import { EXIT, UsageError } from './shared/errors.ts'
import { outputOfCommander, say } from './shared/output.ts'
import { programName } from './shared/program-name.ts'

/** In the order of the help. */
const VERBS = [
  addServe,
  addReview,
  addTest,
  addRecord,
  addMetrics,
  addInject,
  addAnnotate,
  addExplain,
  addAttach,
  addCollect,
  addReport,
  addDoctor,
  addDisarm,
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
  for (const add of VERBS) add(program)
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
