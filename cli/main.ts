#!/usr/bin/env node
import { keepHeapSmall } from '../src/lib/small-heap.ts'
import { runCommand } from './run-command.ts'
import { EXIT } from './shared/errors.ts'
import type { Host, Interruption, ServerEnd } from './shared/host.ts'
import { createPrinter } from './shared/output.ts'

// Only this module touches the streams, the environment, the signals and the end of the process.

const { stdin, stdout, stderr, env: environment } = process

/** The verbs that clean up if the output cannot be written. */
const outputListeners = new Set<() => void>()

function onInterruption(interruptions: readonly Interruption[], listener: () => void): () => void {
  for (const name of interruptions) {
    if (name === 'output') outputListeners.add(listener)
    else process.on(name, listener)
  }
  return () => {
    outputListeners.delete(listener)
    for (const name of interruptions) if (name !== 'output') process.off(name, listener)
  }
}

// A reader such as `head` may close the output early, which is not an error.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (outputListeners.size > 0) return callOutputListeners()
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  createPrinter({ stdout, stderr, environment }).say(
    `cannot write to standard output: ${error.message}`,
  )
  process.exit(EXIT.trouble)
})
stderr.on('error', (error) => {
  if (outputListeners.size > 0) return callOutputListeners()
  throw error
})

function callOutputListeners(): void {
  for (const listener of outputListeners) listener()
}

/** Ends the process itself, so that the promise never resolves. */
async function untilStopped({ close, limitMs, log }: ServerEnd): Promise<never> {
  const { default: closeWithGrace } = await import('close-with-grace')
  return new Promise(() => {
    closeWithGrace({ delay: limitMs, logger: log }, ({ signal }) => close(signal))
  })
}

const [, programPath = '', ...words] = process.argv
const host: Host = {
  stdin,
  stdout,
  stderr,
  environment,
  programPath,
  onInterruption,
  untilStopped,
  keepHeapSmall,
}
const code = await runCommand(words, host)
// Requests to the apiserver may still be open, but what was printed must be written.
for (const stream of [stdout, stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()))
process.exit(code)
