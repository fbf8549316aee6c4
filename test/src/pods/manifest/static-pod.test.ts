import t from 'tap'
import { withDefaults } from '../../../../src/pods/manifest/static-pod.ts'

t.test('a missing request of a resource is set to the limit', async (t) => {
  const limits = { cpu: '1', memory: '1Gi' }
  const spec = {
    containers: [
      { name: 'a', resources: { limits } },
      { name: 'b', resources: { limits, requests: { cpu: '500m' } } },
      { name: 'c', resources: { requests: { cpu: '1' } } },
      { name: 'd' },
    ],
    initContainers: [{ name: 'e', resources: { limits } }],
  }
  t.strictSame(withDefaults(spec), {
    containers: [
      { name: 'a', resources: { limits, requests: limits } },
      { name: 'b', resources: { limits, requests: { cpu: '500m', memory: '1Gi' } } },
      { name: 'c', resources: { requests: { cpu: '1' } } },
      { name: 'd' },
    ],
    initContainers: [{ name: 'e', resources: { limits, requests: limits } }],
  })
  t.strictSame(
    withDefaults({ containers: 7 }),
    { containers: 7 },
    'containers that are not a list are not changed',
  )
})
