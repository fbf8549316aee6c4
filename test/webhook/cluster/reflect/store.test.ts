import t from 'tap'
import type { StoredObject } from '../../../../webhook/cluster/reflect/item.ts'
import { createStore } from '../../../../webhook/cluster/reflect/store.ts'

const item = (name: string, version: number, namespace = 'hpc'): StoredObject => {
  return { name, namespace, resourceVersion: `${version}`, object: {} }
}

function collect() {
  const changes: string[] = []
  const collection = createStore((namespace) => changes.push(namespace))
  const versions = (namespace = 'hpc') => {
    return collection.of(namespace).map(({ name, resourceVersion }) => `${name}@${resourceVersion}`)
  }
  return { ...collection, changes, versions }
}

t.test('what is later stays, in whatever order things come', async (t) => {
  const { put, versions, changes } = collect()
  put(item('a', 9))
  put(item('a', 10))
  put(item('a', 9))
  t.strictSame(versions(), ['a@10'])
  t.equal(changes.length, 2, 'and what changes nothing is no change')
})

t.test('several objects of one namespace stand beside each other', async (t) => {
  const { put, remove, versions, namespaces } = collect()
  put(item('a', 1))
  put(item('b', 2))
  put(item('c', 3, 'other'))
  t.strictSame(versions(), ['a@1', 'b@2'])
  remove(item('a', 4))
  t.strictSame(versions(), ['b@2'])
  remove(item('b', 5))
  t.strictSame([...namespaces()], ['other'], 'nothing is kept of one that has none')
})

t.test('an end that is old news does not take away what was made again', async (t) => {
  const { put, remove, versions } = collect()
  put(item('a', 7))
  remove(item('a', 6))
  t.strictSame(versions(), ['a@7'])
})

t.test('a list takes away what it does not have, unless that is younger', async (t) => {
  const { put, settleAll, versions, changes } = collect()
  put(item('gone', 1))
  put(item('kept', 2))
  put(item('young', 12))
  put(item('newer', 11))
  changes.length = 0
  settleAll([item('kept', 2), item('newer', 9), item('added', 5)], '10')
  t.strictSame(versions().sort(), ['added@5', 'kept@2', 'newer@11', 'young@12'])
  t.strictSame(changes, ['hpc'])
  settleAll([item('kept', 2), item('newer', 11), item('added', 5), item('young', 12)], '12')
  t.strictSame(changes, ['hpc'], 'a list that says the same is no change')
  settleAll([], '20')
  t.strictSame(versions(), [])
})

t.test('a list of one namespace leaves the others', async (t) => {
  const { put, settle, versions } = collect()
  put(item('a', 1))
  put(item('b', 2, 'other'))
  settle('hpc', [item('c', 3)], '3')
  t.strictSame(versions(), ['c@3'])
  t.strictSame(versions('other'), ['b@2'])
})

t.test('what was read is not changed by what comes later', async (t) => {
  const { put, of } = collect()
  put(item('a', 1))
  const before = of('hpc')
  put(item('b', 2))
  t.equal(before.length, 1)
})
