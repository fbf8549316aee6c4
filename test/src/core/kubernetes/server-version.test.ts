import t from 'tap'
import { readServerVersion } from '../../../../src/core/kubernetes/server-version.ts'

t.test('the version is the one whose rules the apiserver applies', async (t) => {
  const rows: [number | undefined, string, Readonly<Record<string, unknown>>][] = [
    [30, 'Kubernetes 1.30', { major: '1', minor: '30' }],
    [30, 'a minor version with a suffix', { major: '1', minor: '30+' }],
    [36, 'Kubernetes 1.36', { major: '1', minor: '36', emulationMajor: '1', emulationMinor: '36' }],
    [
      34,
      'an emulated version',
      { major: '1', minor: '36', emulationMajor: '1', emulationMinor: '34' },
    ],
    [undefined, 'an empty version, as of a build without version', { major: '', minor: '' }],
    [undefined, 'another major version', { major: '2', minor: '36' }],
    [undefined, 'a number instead of text', { major: '1', minor: 36 }],
    [undefined, 'an invalid emulated version', { major: '1', minor: '36', emulationMinor: 'x' }],
    [undefined, 'no version', {}],
  ]
  for (const [version, name, info] of rows) t.equal(readServerVersion(info), version, name)
})
