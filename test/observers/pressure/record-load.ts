// Records a run in which a load begins and ends, for the tests of `top`: the observer vitals beside
// a container in a simulated pod. For 40 s the container sleeps, then two processes compute on one
// processor for 70 s, and then the container sleeps again, for 140 s.
//
//   node test/observers/pressure/record-load.ts FILE
//
// The script needs root, Linux and cargo.
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { observer, startPod, until } from '../pod.ts'
import { onPath } from '../prerequisites.ts'

const LOAD = 'perl -e "1 while 1"'
const PINNED = `${onPath('taskset')} -c 0 timeout 70 ${LOAD}`
const APP = `sleep 40; ${PINNED} & ${PINNED}; wait; sleep 600`
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: '5',
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}
const RECORDED_MS = 250_000

const [, , file] = process.argv
if (file === undefined) throw new Error('name the file to write')
const pod = await startPod()
try {
  await pod.run('app', ['sh', '-c', APP])
  const watching = await pod.run('vitals', [observer('vitals')], ENV)
  await sleep(RECORDED_MS)
  watching.signal('SIGTERM')
  await until(watching, /COLLECTION END/)
  writeFileSync(file, watching.log())
} finally {
  pod.end()
}
