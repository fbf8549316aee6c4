import t from 'tap'
import { isWindows } from '../../../../src/core/kubernetes/windows.ts'
import type { Json } from '../build.ts'

const OS = 'kubernetes.io/os'
const BUILD = 'node.kubernetes.io/windows-build'

/** Returns a spec whose required node affinity has these terms, each a list of expressions. */
function affinityOf(...terms: readonly (readonly Json[])[]): Json {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions }))
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
  return { affinity: { nodeAffinity: required } }
}

const expression = (operator: string, values?: readonly string[], key = OS) => ({
  key,
  operator,
  values,
})
const WINDOWS = expression('In', ['windows'])
const LINUX = expression('In', ['linux'])
const ZONE = expression('In', ['a'], 'topology.kubernetes.io/zone')

t.test('a pod whose required affinity only allows Windows is a Windows pod', async (t) => {
  const rows: [string, Json][] = [
    ['one term', affinityOf([WINDOWS])],
    ['the older label', affinityOf([expression('In', ['windows'], `beta.${OS}`)])],
    ['another expression', affinityOf([ZONE, WINDOWS])],
    ['all terms', affinityOf([WINDOWS], [WINDOWS, ZONE])],
    ['not Linux', affinityOf([expression('NotIn', ['linux'])])],
    ['a Windows build', affinityOf([expression('In', ['10.0.20348'], BUILD)])],
    ['any Windows build', affinityOf([expression('Exists', undefined, BUILD)])],
    ['a build in the node selector', { nodeSelector: { [BUILD]: '10.0.20348' } }],
  ]
  for (const [name, spec] of rows) t.ok(isWindows(spec), name)
})

t.test('a pod that may run on Linux is no Windows pod', async (t) => {
  const preferred = { preference: { matchExpressions: [WINDOWS] }, weight: 1 }
  const rows: [string, Json][] = [
    ['no affinity', {}],
    ['Linux', affinityOf([LINUX])],
    ['both systems', affinityOf([expression('In', ['linux', 'windows'])])],
    ['one of two terms', affinityOf([WINDOWS], [ZONE])],
    ['not Windows', affinityOf([expression('NotIn', ['windows'])])],
    ['no Windows build', affinityOf([expression('DoesNotExist', undefined, BUILD)])],
    ['the label exists', affinityOf([expression('Exists')])],
    ['no values', affinityOf([expression('In', [])])],
    ['no terms', affinityOf()],
    ['the value of another label', affinityOf([expression('In', ['windows'], 'disk')])],
    ['spec.os takes precedence', { os: { name: 'linux' }, ...affinityOf([WINDOWS]) }],
    [
      'the node selector takes precedence',
      { nodeSelector: { [OS]: 'linux' }, ...affinityOf([WINDOWS]) },
    ],
    [
      'preferred only',
      {
        affinity: {
          nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferred] },
        },
      },
    ],
    [
      'invalid',
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: 7 } } },
    ],
    ['invalid terms', affinityOf([null, 7] as never)],
  ]
  for (const [name, spec] of rows) t.notOk(isWindows(spec), name)
})

t.test('a pod of host processes is a Windows pod', async (t) => {
  const securityContext = { windowsOptions: { hostProcess: true } }
  t.ok(isWindows({ securityContext }))
  t.ok(isWindows({ containers: [{ name: 'a', securityContext }] }))
  t.notOk(isWindows({ securityContext, os: { name: 'linux' } }), 'the apiserver refuses it')
  t.notOk(isWindows({ securityContext: { windowsOptions: { hostProcess: 'true' } } }))
})
