import t from 'tap'
import { isLater, namespaceItem, ruleItem } from '../../../../src/cluster/reflect/item.ts'

const OWNER = {
  time: '2026-01-01T12:00:00Z',
  fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:ridealong.dev/inject': {} } } },
}

t.test('only the needed fields of a Namespace are kept', async (t) => {
  const { name, namespace, resourceVersion, object } = namespaceItem({
    metadata: {
      name: 'hpc',
      resourceVersion: '7',
      uid: 'u',
      labels: { team: 'a' },
      annotations: {
        'ridealong.dev/inject': 'perf-sysstat',
        'perf-sysstat.ridealong.dev/rate': '5',
        'kubectl.kubernetes.io/last-applied-configuration': 'long',
      },
      managedFields: [{ manager: 'other' }, { ...OWNER, manager: 'kubectl-annotate' }],
    },
    spec: { finalizers: ['kubernetes'] },
  })
  t.strictSame([name, namespace, resourceVersion], ['hpc', 'hpc', '7'])
  t.strictSame(object, {
    metadata: {
      name: 'hpc',
      resourceVersion: '7',
      labels: { team: 'a' },
      annotations: {
        'ridealong.dev/inject': 'perf-sysstat',
        'perf-sysstat.ridealong.dev/rate': '5',
      },
      managedFields: [OWNER],
    },
  })
})

t.test('the spec of a LimitRange is kept unchanged', async (t) => {
  const spec = { limits: [{ type: 'Container', default: { cpu: '1' }, future: [1] }] }
  const metadata = { name: 'r', namespace: 'hpc', resourceVersion: '7', managedFields: [{}] }
  const { object, namespace } = ruleItem({ metadata, spec })
  t.equal(namespace, 'hpc')
  t.strictSame(object, { metadata: { name: 'r', namespace: 'hpc' }, spec, status: undefined })
})

t.test('an object without a name, version or namespace is refused', async (t) => {
  for (const metadata of [undefined, {}, { name: 'a' }, { resourceVersion: '1' }, { name: 7 }]) {
    t.throws(() => namespaceItem({ metadata }), /without a name or a resourceVersion/)
  }
  const metadata = { name: 'r', resourceVersion: '7' }
  t.throws(() => ruleItem({ metadata }), /r without its namespace/)
})

t.test('resource versions are compared as numbers', async (t) => {
  t.equal(isLater('10', '9'), true)
  t.equal(isLater('9', '10'), false)
  t.equal(isLater('10', '10'), false)
})
