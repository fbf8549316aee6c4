import t from 'tap'
import { freePorts } from '../../free-ports.ts'
import { observerProgram, readOutput } from '../../observers/profile/stacks-pod.ts'
import { until } from '../../until.ts'
import { type ProfiledPod, profiledPod } from './profiled-pod.ts'
import { program, pythonTests, systemPython } from './sampler.ts'

const options = pythonTests()

/** Runs the command `stacks` in the container of an observer. */
async function request({ run, settings }: ProfiledPod, container: string, words: string[] = []) {
  const argv = [observerProgram(), 'stacks', ...words]
  const asked = await run(container, argv, settings)
  t.equal(await asked.ended, 0, asked.log())
  return readOutput(asked.log())
}

t.test('the stacks of ranks are those of Python, from any observer', options, async (t) => {
  const pod = await profiledPod(t)
  const [port] = await freePorts(1)
  const words = [systemPython(), program('ranks.py')]
  for (const rank of [0, 1]) await pod.start(...words, String(rank), String(port), '600')
  const innermost = async (container: string) => {
    const found = await request(pod, container)
    const stacks = found.map(({ threads }) => threads[0]?.python ?? [])
    return stacks.map((stack) => `${stack[0]} > ${stack.at(-1)}`).sort()
  }
  const late = /^<module> \(.*ranks\.py:\d+\) > load_batch \(.*ranks\.py:\d+\)$/
  for (const container of ['python-profile', 'vitals']) {
    await until('a rank is in load_batch', async () => {
      return (await innermost(container)).some((stack) => late.test(stack))
    })
  }
})

const THREADS = `
import threading, time
def work():
  time.sleep(600)
thread = threading.Thread(target=work, daemon=True)
thread.start()
def serve():
  thread.join()
serve()`

t.test('threads, and a process that was stopped', options, async (t) => {
  const pod = await profiledPod(t)
  const running = await pod.start(systemPython(), '-c', THREADS)
  let stacks: readonly string[] = []
  const look = async () => {
    const [process] = await request(pod, 'python-profile', ['--threads'])
    stacks = (process?.threads ?? []).map(({ python }) => String(python?.at(-1)))
    return process
  }
  const isIn = (name: string) => stacks.some((stack) => stack.startsWith(`${name} (`))
  await until('both threads have their stacks', async () => {
    await look()
    return stacks.length === 2 && isIn('work') && !isIn('serve')
  })
  running.signal('SIGSTOP')
  const stopped = await look()
  t.match(stopped?.threads, [{ state: 'stopped' }, { state: 'stopped' }])
  t.ok(isIn('work'), `the stacks of a stopped process: ${stacks}`)
})

t.test('a program without Python has a reason', options, async (t) => {
  const pod = await profiledPod(t)
  await pod.start('/bin/sleep', '600')
  const [process] = await request(pod, 'python-profile')
  t.match(process?.threads, [{ python: undefined, why: /it is not CPython$/ }])
})
