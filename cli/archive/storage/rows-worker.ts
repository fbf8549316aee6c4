import { parentPort } from 'node:worker_threads'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { systemMessage } from '../../../src/lib/error-message.ts'
import { descriptionsIn } from '../../../src/runs/log/descriptions.ts'
import type { RowsAnswer, RowsTask } from './rows-writer.ts'
import { VOLUME_FILES } from './volume-files.ts'
import { writePage, writeRows } from './write-run.ts'

// The thread of rows-writer.ts.

async function answer({ task, run }: RowsTask): Promise<RowsAnswer> {
  try {
    const descriptions = descriptionsIn(await loadCatalog({}))
    if (task === 'rows') return { written: await writeRows(VOLUME_FILES, run, descriptions) }
    await writePage(VOLUME_FILES, run, descriptions)
    return { written: undefined }
  } catch (error) {
    return { error: systemMessage(error) }
  }
}

parentPort?.on('message', async (message: RowsTask) =>
  parentPort?.postMessage(await answer(message)),
)
