import t from 'tap'
import type { StoredObject } from '../../../../src/cluster/reflect/item.ts'
import { createStore } from '../../../../src/cluster/reflect/store.ts'

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

t.test('the latest version is kept, in any order of arrival', async (t) => {
  const { put, versions, changes } = collect()
  put(item('a', 9))
  put(item('a', 10))
  put(item('a', 9))
  t.strictSame(versions(), ['a@10'])
  t.equal(changes.length, 2, 'an older version is not reported as a change')
})

t.test('a namespace can have several objects', async (t) => {
  const { put, remove, versions, namespaces } = collect()
  put(item('a', 1))
  put(item('b', 2))
  put(item('c', 3, 'other'))
  t.strictSame(versions(), ['a@1', 'b@2'])
  remove(item('a', 4))
  t.strictSame(versions(), ['b@2'])
  remove(item('b', 5))
  t.strictSame([...namespaces()], ['other'], 'a namespace without objects is forgotten')
})

t.test('removing an older version does not remove an object that was created again', async (t) => {
  const { put, remove, versions } = collect()
  put(item('a', 7))
  remove(item('a', 6))
  t.strictSame(versions(), ['a@7'])
})

t.test('a list removes the objects that it does not contain, except later ones', async (t) => {
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
  t.strictSame(changes, ['hpc'], 'an identical list is not reported as a change')
  settleAll([], '20')
  t.strictSame(versions(), [])
})

t.test('a list of one namespace does not change other namespaces', async (t) => {
  const { put, settle, versions } = collect()
  put(item('a', 1))
  put(item('b', 2, 'other'))
  settle('hpc', [item('c', 3)], '3')
  t.strictSame(versions(), ['c@3'])
  t.strictSame(versions('other'), ['b@2'])
})

t.test('a returned list does not change when an object is added', async (t) => {
  const { put, of } = collect()
  put(item('a', 1))
  const before = of('hpc')
  put(item('b', 2))
  t.equal(before.length, 1)
})
