import t from 'tap'
import { nameRun } from '../../../../src/runs/archive/run-name.ts'

const UID = 'e37d7975-31d1-4ed2-8257-291575438313'
const JOB = { group: 'batch', kind: 'Job', name: 'lammps', uid: UID, revision: null }
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

t.test('the name has the first digits of the UID', async (t) => {
  t.equal(nameRun(JOB), 'lammps-e37d7975')
})

t.test('a long name is shortened to a valid one', async (t) => {
  const name = nameRun({ ...JOB, name: `${'a'.repeat(243)}.${'b'.repeat(9)}` })
  t.equal(name.length, 252, 'the point at the cut is removed')
  t.match(name, SUBDOMAIN)
})

t.test('the revisions of a StatefulSet have different names, those of a Deployment UIDs', (t) => {
  const set = { ...JOB, group: 'apps', kind: 'StatefulSet' }
  const names = ['web-5d4b9c7d', 'Web_6'].map((revision) => nameRun({ ...set, revision }))
  t.equal(new Set(names).size, 2)
  for (const name of names) t.match(name, SUBDOMAIN)
  const deployment = { ...JOB, group: 'apps', kind: 'Deployment', revision: '5d4b9c7d' }
  t.equal(nameRun(deployment), 'lammps-e37d7975')
  t.end()
})
