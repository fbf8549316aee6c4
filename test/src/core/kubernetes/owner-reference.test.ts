import t from 'tap'
import { readController } from '../../../../src/core/kubernetes/owner-reference.ts'

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  name: 'lammps',
  uid: '0f9d3c1e-5b7a-4c2d-9e8f-1a2b3c4d5e6f',
}
const CONTROLLER = { ...JOB, controller: true, blockOwnerDeletion: true }

t.test('the controller is found among the owner references of an object', async (t) => {
  t.strictSame(readController([CONTROLLER]), JOB)
  t.strictSame(readController([{ ...JOB, name: 'other' }, CONTROLLER]), JOB)
  const cluster = { apiVersion: 'flux-framework.org/v1alpha2', kind: 'MiniCluster', name: 'a.b-c' }
  t.match(readController([{ ...CONTROLLER, ...cluster }]), cluster)
})

t.test('an object without exactly one controller has no controller', async (t) => {
  for (const value of [undefined, null, 'x', {}, [], [JOB], [null, 'x', 1]]) {
    t.equal(readController(value), undefined, JSON.stringify(value))
  }
  t.equal(readController([{ ...JOB, controller: 'true' }]), undefined)
  t.equal(
    readController([CONTROLLER, { ...CONTROLLER, name: 'b' }]),
    undefined,
    'there are two controllers',
  )
})

const IMPOSSIBLE: Readonly<Record<string, readonly unknown[]>> = {
  apiVersion: [
    '',
    'batch/',
    '/v1',
    'a/b/v1',
    'batch/V1',
    'BATCH/v1',
    'batch/1',
    'v1\n',
    1,
    undefined,
  ],
  kind: ['', 'Job\u001b[2J', 'Job Two', '-Job', `J${'o'.repeat(63)}`, {}, undefined],
  name: ['', 'Lammps', 'a/b', 'a..b', '.', 'a\n', 'a\u202e', 'x'.repeat(254), 7, undefined],
  uid: [
    '',
    'u-job',
    `${JOB.uid}\n`,
    `${JOB.uid}0`,
    JOB.uid.toUpperCase(),
    'x'.repeat(36),
    undefined,
  ],
}

for (const [field, values] of Object.entries(IMPOSSIBLE)) {
  t.test(`a controller with an invalid ${field} is ignored`, async (t) => {
    for (const [index, value] of values.entries()) {
      t.equal(
        readController([{ ...CONTROLLER, [field]: value }]),
        undefined,
        `value ${index} of ${field} is invalid`,
      )
    }
  })
}

t.test('an Event is not accepted as an owner', async (t) => {
  const event = { ...CONTROLLER, apiVersion: 'v1', kind: 'Event' }
  t.equal(readController([event]), undefined)
})

t.test('a field of megabytes is checked in linear time', { timeout: 300_000 }, async (t) => {
  const long = `${'a-'.repeat(2_000_000)}!`
  for (const field of ['apiVersion', 'kind', 'name', 'uid']) {
    t.equal(
      readController([{ ...CONTROLLER, [field]: long }]),
      undefined,
      `the ${field} is invalid`,
    )
  }
})
