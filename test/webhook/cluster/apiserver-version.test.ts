import t, { type Test } from 'tap'
import { connectApiserver } from '../../../src/cluster/apiserver.ts'
import { followVersion } from '../../../webhook/cluster/apiserver-version.ts'
import { INTERVALS, type Intervals } from '../../../webhook/cluster/intervals.ts'
import { type StandIn, startStandIn } from '../../stand-ins/apiserver.ts'
import { until } from '../../until.ts'

const READINGS = /^GET \/version$/

/** Follows the version of a simulated apiserver. */
async function follow(t: Test, pace: Partial<Intervals>, prepare?: (standIn: StandIn) => void) {
  const { standIn, access } = await startStandIn(t)
  prepare?.(standIn)
  const troubles: (readonly [string, boolean])[] = []
  const version = followVersion({
    api: connectApiserver(access),
    pace: { ...INTERVALS, pauseMs: 10, longestPauseMs: 20, ...pace },
    onTrouble: (...trouble) => troubles.push(trouble),
  })
  t.teardown(version.stop)
  return { standIn, version, troubles }
}

const versionOf = (minor: string) => ({ major: '1', minor })

t.test('a new version of the apiserver counts when it was read twice', async (t) => {
  const { standIn, version } = await follow(t, { relistMs: 500 }, (standIn) => {
    standIn.serverVersion = versionOf('34')
  })
  t.equal(version.current(), undefined, 'before the first reading, the version is not known')
  await until('the version is read', () => version.current() !== undefined)
  t.equal(version.current(), 34)
  const before = standIn.count(READINGS)
  standIn.serverVersion = versionOf('35')
  await until('the new version is known', () => version.current() === 35)
  t.ok(standIn.count(READINGS) >= before + 2, 'the new version was read twice')
})

t.test('an older version of the apiserver counts at once', async (t) => {
  const { standIn, version } = await follow(t, { relistMs: 50 })
  await until('the version is read', () => version.current() === 36)
  await until('the version is read again', () => standIn.count(READINGS) > 3)
  const before = standIn.count(READINGS)
  standIn.serverVersion = versionOf('34')
  await until('the old version is known', () => version.current() === 34)
  t.ok(standIn.count(READINGS) > before)
})

t.test('a version that cannot be read is reported and read again', async (t) => {
  const { standIn, version, troubles } = await follow(t, {}, (standIn) => {
    standIn.serverVersion = {}
    standIn.faults.refuse = [/version/, 403]
  })
  await until('two readings have failed', () => troubles.length > 1)
  t.match(troubles, [
    [/refused by the test/, false],
    [/refused by the test/, true],
  ])
  standIn.faults.refuse = undefined
  await until('the answer has no version', () => /no version 1\.N/.test(`${troubles.at(-1)}`))
  t.equal(version.current(), undefined)
  standIn.serverVersion = versionOf('30+')
  await until('the version is read', () => version.current() === 30)
})
