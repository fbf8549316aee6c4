#!/usr/bin/env node
import { nodeProblem } from './node-problem.ts'

// The first file of the built command. Versions of Node that are too old must run it as far as the
// sentence about the version, so it imports the rest only afterwards.

async function start(): Promise<void> {
  process.setSourceMapsEnabled(true)
  const { enableUsersCompileCache } = await import('./compile-cache.ts')
  enableUsersCompileCache(process.env)
  await import('../main.ts')
}

const problem = nodeProblem(process.version)
if (problem === undefined) start()
else {
  process.stderr.write(`ridealong: ${problem}\n`)
  process.exitCode = 2
}
