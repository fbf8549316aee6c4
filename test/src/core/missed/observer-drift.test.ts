import t from 'tap'
import { findDrift } from '../../../../src/core/missed/observer-drift.ts'

const LASTING = { name: 'perf-sysstat', restartPolicy: 'Always' }
const NAMES = ['perf-sysstat']

t.test('findDrift() reports no problem of a pod that the webhook has patched', async (t) => {
  const shared = { shareProcessNamespace: true }
  t.strictSame(findDrift({ ...shared, initContainers: [LASTING] }, NAMES, []), [])
  t.strictSame(findDrift({ ...shared, containers: [{ name: 'perf-sysstat' }] }, NAMES, []), [])
})

t.test('findDrift() names each missing observer and each missing field', async (t) => {
  const stripped = { initContainers: [{ name: 'perf-sysstat' }], shareProcessNamespace: true }
  t.match(findDrift(stripped, NAMES, []), [/^perf-sysstat has lost its restartPolicy/])
  t.strictSame(findDrift({ initContainers: [LASTING] }, NAMES, []), [
    'shareProcessNamespace is not true',
  ])
  t.strictSame(findDrift({}, [...NAMES, 'io-sysstat'], []), [
    'perf-sysstat is missing',
    'io-sysstat is missing',
    'shareProcessNamespace is not true',
  ])
})

t.test('findDrift() names each variable of a tool that no container has', async (t) => {
  const env = [{ name: 'LD_PRELOAD', value: 'x' }, null, { name: 7 }]
  const containers = [{ name: 'app', env }, { name: 'other' }, null]
  const spec = { initContainers: [LASTING], containers, shareProcessNamespace: true }
  t.strictSame(findDrift(spec, NAMES, ['LD_PRELOAD', 'app/LD_PRELOAD', 'LD_PRELOAD']), [])
  t.strictSame(findDrift(spec, NAMES, ['TRACE', 'other/LD_PRELOAD', 'a\n']), [
    'variable TRACE is missing',
    'variable other/LD_PRELOAD is missing',
    'variable "a?" is missing',
  ])
  const side = { ...LASTING, name: 'side', env }
  const inSidecar = { ...spec, initContainers: [LASTING, side], containers: [] }
  t.strictSame(findDrift(inSidecar, NAMES, ['LD_PRELOAD', 'side/LD_PRELOAD']), [])
})
