import { readFileSync } from 'node:fs'
import t from 'tap'
import { until as untilTrue } from '../../until.ts'
import { fuseTests } from '../ending/fuse.ts'
import { noticesOf, rowsOf } from '../json-rows.ts'
import { observer, podOf, until } from '../pod.ts'
import { WITH_HUNG_MOUNT } from './hung-mount.ts'

const options = fuseTests()
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }

t.test('an observer that waits for a file system ends on SIGTERM', options, async (t) => {
  const { run } = await podOf(t)
  // The observer looks for the devices in /sys/class/infiniband when it starts.
  const argv = ['python3', '-c', WITH_HUNG_MOUNT, '/sys/class', observer('network')]
  const watching = await run('network', argv, ENV)
  await untilTrue('the observer waits in the kernel', () => stateOf(watching.pid) === 'D')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /^METRICS OPERATOR COLLECTION END\n$/m)
})

/** Returns the letter of the state of a process that was given the program of an observer. */
function stateOf(pid: number): string | undefined {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return status.match(/^Name:\s+network\n[\s\S]*^State:\s+(\w)/m)?.[1]
}

t.test('a file system over the cgroups of a container is not read', options, async (t) => {
  const { run } = await podOf(t)
  const sleep = ['python3', '-c', WITH_HUNG_MOUNT, '/sys/fs/cgroup', 'sleep', '600']
  await run('app', sleep)
  const env = { ...ENV, RIDEALONG_TARGET_COMMAND: '^sleep$' }
  const watching = await run('pressure', [observer('pressure')], env)
  await until(watching, () => rowsOf(watching, 'container').length >= 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /SUMMARY END/)
  t.match(rowsOf(watching, 'container').at(-1), { memory_current: null, unlimited: null })
  t.match(noticesOf(watching).join('\n'), /memory controller: its cgroup is not mounted/)
})
