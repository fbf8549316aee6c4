import t from 'tap'
import { groupOf } from '../../../../../src/core/kubernetes/group.ts'
import { annotate } from '../../../../../src/pods/manifest/annotate.ts'
import { valueAt } from '../../../../../src/pods/manifest/kinds/paths.ts'
import { KINDS } from '../../../../../src/pods/manifest/kinds/table.ts'
import { findMissedPods } from '../../../../../src/pods/manifest/missed-pods.ts'
import { readManifests } from '../../../../../src/pods/manifest/read.ts'
import { BATCH_KINDS } from './kinds-batch.ts'
import { DATA_KINDS } from './kinds-data.ts'
import { KUBERNETES_KINDS } from './kinds-kubernetes.ts'
import { SERVING_KINDS } from './kinds-serving.ts'
import { WORKFLOW_KINDS } from './kinds-workflow.ts'

const KEY = 'ridealong.dev/inject'
const ASK = { [KEY]: 'true' }

const ROWS = [
  ...KUBERNETES_KINDS,
  ...BATCH_KINDS,
  ...DATA_KINDS,
  ...SERVING_KINDS,
  ...WORKFLOW_KINDS,
]

/** A repository, a commit, and files with numbers of lines. */
const SOURCE = /^[\w-]+\/[\w-]+ [0-9a-f]{7,9} [\w./-]+:\d+(, ([\w.]+:)?\d+)*$/

for (const [apiVersion, kind, source, spec, expected, field = 'spec'] of ROWS) {
  const verb = expected instanceof RegExp ? 'not annotated' : 'annotated where its operator reads'
  t.test(`the ${kind} of ${apiVersion} is ${verb} (${source})`, async (t) => {
    t.match(source, SOURCE)
    const head = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\n`
    const text = `${head}${field}: ${spec}\n`
    const [manifest] = readManifests('a.yaml', text)
    if (manifest === undefined) return t.fail('no document')
    const { text: out, objects, passedOver } = annotate(manifest, ASK, true)
    if (expected instanceof RegExp) {
      t.equal(out, text)
      t.match(passedOver, [{ why: expected }])
      return
    }
    const value = readManifests('a.yaml', out)[0]?.value
    for (const place of expected) {
      if (typeof place === 'string') t.strictSame(valueAt(value, place.split('.')), ASK, place)
      else t.match(valueAt(value, place.path.split('.')), { [`${place.prefix}${KEY}`]: 'true' })
    }
    t.equal(out.split(KEY).length - 1, expected.length)
    t.match(findMissedPods(objects, 'annotated'), { notes: [], isAnyUnknown: false })
  })
}

t.test('each known kind has a row here, and each row is of a known kind', async (t) => {
  const known = new Set(KINDS.map(({ group, kind }) => `${group}/${kind}`))
  const rows = new Set(ROWS.map(([apiVersion, kind]) => `${groupOf(apiVersion)}/${kind}`))
  t.strictSame(
    [...known].filter((name) => !rows.has(name)),
    [],
    'known kinds without a row',
  )
  t.strictSame(
    [...rows].filter((name) => !known.has(name)),
    [],
    'rows of unknown kinds',
  )
})
