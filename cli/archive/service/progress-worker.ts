import { parentPort } from 'node:worker_threads'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { systemMessage } from '../../../src/lib/error-message.ts'
import { descriptionsIn } from '../../../src/runs/log/descriptions.ts'
import { createProgressLooks, type Look } from './progress-looks.ts'
import type { LookTask } from './progress-watch.ts'

// The thread of progress-watch.ts.

const looks = createProgressLooks(descriptionsIn(await loadCatalog({})))

async function answer({ run, forgotten }: LookTask): Promise<Look> {
  for (const key of forgotten) looks.forget(key)
  try {
    return await looks.look(run)
  } catch (error) {
    const problem = systemMessage(error)
    return { sentence: undefined, problem, isGivenUp: false, tooLarge: [] }
  }
}

parentPort?.on('message', async (message: LookTask) =>
  parentPort?.postMessage(await answer(message)),
)
