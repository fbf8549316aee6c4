import t from 'tap'
import { KEYS } from '../../../../src/core/keys.ts'
import { findOwners, ownership } from '../../../../src/core/kubernetes/managed-fields.ts'

const owner = (manager: string, key: string, time: string) => ({
  manager,
  time,
  fieldsV1: { 'f:metadata': { 'f:annotations': { '.': {}, [`f:${key}`]: {} } }, 'f:spec': {} },
})
const OBJECT = {
  metadata: {
    managedFields: [
      owner('kubectl-create', 'team', '2026-01-01T12:00:00Z'),
      owner('kubectl-annotate', KEYS.inject, '2026-01-01T12:00:05Z'),
    ],
  },
}

t.test('the owners of an annotation are the managers whose fields contain it', async (t) => {
  t.match(findOwners(OBJECT, KEYS.inject), [{ manager: 'kubectl-annotate' }])
  t.match(findOwners(OBJECT, 'team'), [{ manager: 'kubectl-create' }])
  t.strictSame(findOwners(OBJECT, KEYS.mode), [])
})

t.test('an object without valid managedFields has no owners', async (t) => {
  for (const managedFields of [undefined, 'x', [null, 1, { fieldsV1: 'x' }, {}]]) {
    t.strictSame(findOwners({ metadata: { managedFields } }, KEYS.inject), [])
  }
  t.strictSame(findOwners({}, KEYS.inject), [])
})

t.test(
  'ownership() keeps the times of the owners, but not the names of the managers',
  async (t) => {
    const kept = { metadata: { managedFields: ownership(OBJECT, KEYS.inject) } }
    t.match(findOwners(kept, KEYS.inject), [{ time: '2026-01-01T12:00:05Z' }])
    t.equal(findOwners(kept, KEYS.inject).length, 1)
    t.notMatch(JSON.stringify(kept), 'kubectl')
  },
)
