import t, { type Test } from 'tap'
import {
  createRowsWriter,
  type TaskLimits,
  type WriterOptions,
} from '../../../../cli/archive/storage/rows-writer.ts'
import { endedObserver } from '../observers.ts'

const FIRST: TaskLimits = { heapMib: 32, ms: 600_000, msPerMib: 0 }
const SECOND: TaskLimits = { heapMib: 64, ms: 600_000, msPerMib: 1 }

/**
 * Writes nothing. A run with the title `endless` needs more memory than the first attempt has, and
 * then time without end; one with the title `large` needs memory without end.
 */
const WORKER = `
  import { parentPort, resourceLimits } from 'node:worker_threads'
  const kept = []
  const isFirst = resourceLimits.maxOldGenerationSizeMb === ${FIRST.heapMib}
  parentPort.on('message', ({ run: { title } }) => {
    while (title === 'large' || (title === 'endless' && isFirst))
      kept.push(new Array(100_000).fill(kept.length))
    if (title === 'endless') for (;;);
    const written = { rows: 1, logs: 1, missing: [] }
    parentPort.postMessage(title === 'full' ? { error: 'no space left' } : { written })
  })
`
const WRITTEN = { rows: 1, logs: 1, missing: [] }

function start(t: Test, changes: Partial<WriterOptions> = {}) {
  const module = new URL(`data:text/javascript,${encodeURIComponent(WORKER)}`)
  const writer = createRowsWriter({ module, first: FIRST, second: SECOND, ...changes })
  t.teardown(() => writer.close())
  return writer
}

function runOf(namespace: string, title = 'x') {
  const observer = { ...endedObserver('lammps-0', 'vitals'), namespace }
  return { folder: '/nowhere', title, logs: [{ file: '/nowhere/log', observer }] }
}

t.test('a run that needs far more than others does not keep them waiting', async (t) => {
  const writer = start(t)
  const endless = [1, 2, 3].map(() => writer.page(runOf('other', 'endless')))
  const ended = Promise.allSettled(endless)
  t.strictSame(await writer.rows(runOf('hpc')), WRITTEN)
  t.equal(await writer.page(runOf('hpc')), undefined)
  await writer.close()
  t.match(await ended, Array(3).fill({ status: 'rejected' }), 'they would have gone on')
})

t.test('a run that needs too much memory or time has a reason', async (t) => {
  const writer = start(t, { second: { ...SECOND, ms: 1 } })
  t.match(await writer.rows(runOf('hpc', 'endless')), /^the rows were not made: .* 0\.001 s$/)
  const reason = 'the page was not made: that needs more than 64 MiB of memory'
  t.equal(await start(t).page(runOf('hpc', 'large')), reason)
  await t.rejects(writer.rows(runOf('hpc', 'full')), { message: 'no space left' })
})

t.test('namespaces take turns, whatever the number of their runs', async (t) => {
  const writer = start(t)
  const order: string[] = []
  const write = async (namespace: string) => {
    await writer.rows(runOf(namespace))
    order.push(namespace)
  }
  await Promise.all(['other', 'other', 'other', 'other', 'hpc'].map(write))
  t.strictSame(order, ['other', 'hpc', 'other', 'other', 'other'])
})
