import t from 'tap'
import { observerProgram, startStacksPod } from '../profile/stacks-pod.ts'
import { profileTests } from '../profile/tool.ts'

const PODS = 4
const REQUESTS = 500

/**
 * Requests the stacks again and again, every third time those of all threads, which takes a second
 * because threads that sleep are watched first. Exit code 3 means that a request took too long,
 * which a machine under load may cause.
 */
const REPEAT = `
i=0
while [ $i -lt ${REQUESTS} ]; do
  i=$((i + 1))
  if [ $((i % 3)) = 0 ]; then "$0" stacks --threads; else "$0" stacks; fi >/dev/null
  case $? in 0 | 3) ;; *) exit 1 ;; esac
done`

const CALLS = ['poll', 'epoll_wait', 'select', 'nanosleep', 'semop', 'sigtimedwait']
const UNCHANGED = [...CALLS.map((call) => `${call}: called, 0 interrupted`), 'done', ''].join('\n')

t.test('two thousand requests under load interrupt no call', profileTests(), async (t) => {
  const user = { user: 1000, group: 1000, drops: true }
  const ask = async () => {
    const pod = await startStacksPod(t)
    const running = await pod.start('count', { as: user, frequency: 100 })
    const requests = await pod.run([], { as: user, argv: ['sh', '-c', REPEAT, observerProgram()] })
    t.equal(await requests.ended, 0, requests.log())
    pod.endTasks()
    t.equal(await running.ended, 7)
    t.equal(running.log(), UNCHANGED)
  }
  await Promise.all(Array.from({ length: PODS }, ask))
})
