import t from 'tap'
import { createThread, isOutOfMemory, ThreadDeadlineError } from '../../../cli/archive/thread.ts'

const moduleOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`)

/** Answers with the number of messages until now. It never answers `hang`, and fills the memory. */
const COUNTER = moduleOf(`
  import { parentPort } from 'node:worker_threads'
  let messages = 0
  const kept = []
  parentPort.on('message', (message) => {
    messages += 1
    if (message === 'hang') for (;;);
    while (message === 'fill') kept.push(new Array(100_000).fill(messages))
    parentPort.postMessage(messages)
  })
`)

t.test('a thread keeps what it knows until it fails, and the next one begins anew', async (t) => {
  const thread = createThread<string, number>(COUNTER, { heapMib: 32 })
  t.teardown(() => thread.stop())
  t.equal(await thread.ask('count'), 1)
  t.equal(await thread.ask('count', 600_000), 2)
  await t.rejects(thread.ask('hang', 1), ThreadDeadlineError)
  t.equal(await thread.ask('count'), 1)
  t.ok(isOutOfMemory(await thread.ask('fill').catch((error: unknown) => error)))
  t.equal(await thread.ask('count'), 1)
  const stopped = thread.ask('hang').catch((error: Error) => error.message)
  await thread.stop()
  t.equal(await stopped, 'the thread was stopped')
})
