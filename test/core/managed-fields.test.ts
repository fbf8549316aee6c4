import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import { ownership, ownersOf } from '../../src/core/managed-fields.ts'

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

t.test('the owners of an annotation are those whose fields name it', async (t) => {
  t.match(ownersOf(OBJECT, KEYS.inject), [{ manager: 'kubectl-annotate' }])
  t.match(ownersOf(OBJECT, 'team'), [{ manager: 'kubectl-create' }])
  t.strictSame(ownersOf(OBJECT, KEYS.mode), [])
})

t.test('an object without managedFields, or with nonsense in them, has no owners', async (t) => {
  for (const managedFields of [undefined, 'x', [null, 1, { fieldsV1: 'x' }, {}]]) {
    t.strictSame(ownersOf({ metadata: { managedFields } }, KEYS.inject), [])
  }
  t.strictSame(ownersOf({}, KEYS.inject), [])
})

t.test('what is kept of them tells the same owners', async (t) => {
  const kept = { metadata: { managedFields: ownership(OBJECT, KEYS.inject) } }
  t.match(ownersOf(kept, KEYS.inject), [{ time: '2026-01-01T12:00:05Z' }])
  t.equal(ownersOf(kept, KEYS.inject).length, 1)
  t.notMatch(JSON.stringify(kept), 'kubectl')
})
