import t from 'tap'
import { CASES, findWith } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, podRows, type Sections } from '../../findings/rows.ts'

const { changes, options } = CASES['much-time-in-data-loader']
const RULE = 'much-time-in-data-loader'
const LOADER = 'torch/utils/data'

/** Returns the findings of pod 3, of which a third of the time is in a stack. */
const findThrough = (stack: string, own: Sections = {}) =>
  findWith({ ...changes, ...own, stack: { ...changes.stack, stack } }, options).findings

t.test('the finding says how much of the time was waiting', async (t) => {
  const [finding, ...others] = findWith(changes, options).findings
  t.strictSame(others, [])
  t.match(finding, { rule: RULE, lost: 30, pods: [{ pod: '3' }] })
  t.match(
    finding?.sentence,
    /^Pod 3 spent 25 % of its time in the data loader of PyTorch: 27 s waiting, and 3 s running/,
  )
})

t.test('the data loader is known by its function and file, in any CPython', async (t) => {
  for (const name of [
    `_BaseDataLoaderIter.__next__ (${LOADER}/dataloader.py:701)`,
    `__next__ (${LOADER}/dataloader.py:521)`,
    `__next__ (/opt/torch-src/${LOADER}/dataloader.py:521)`,
  ])
    t.match(findThrough(`<module> (train.py:60);${name};get (queue.py:1)`), [{ rule: RULE }], name)
  for (const name of ['__next__ (data.py:1)', `fetch (${LOADER}/dataloader.py:1)`])
    t.strictSame(findThrough(`<module> (train.py:60);${name}`), [], name)
})

t.test('workers of the data loader do not count', async (t) => {
  const loop = `_worker_loop (${LOADER}/_utils/worker.py:300)`
  const worker = `${loop};Queue.get (multiprocessing/queues.py:1)`
  const rowsOf = (loader: number) => {
    const own = { stack: { ...changes.stack, wall: loader, running: 0 } }
    const others = [{ stack: { stack: worker, wall: 1000, running: 0 } }, {}]
    return podRows('0', own, { ...options, others })
  }
  t.match(findIn(rowsOf(30)).findings, [{ rule: RULE, lost: 30 }])
  t.strictSame(findIn(rowsOf(9.9)).findings, [])
})

t.test('without the metric, the rule is not listed; with it for some pods, it is', async (t) => {
  checkOptional(t, RULE, 'python-profile')
})
