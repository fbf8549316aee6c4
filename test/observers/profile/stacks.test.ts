import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../until.ts'
import type { Identity, Running } from '../pod.ts'
import { type AskedProcess, startStacksPod } from './stacks-pod.ts'
import { profileTests } from './tool.ts'

const options = profileTests()
const USER: Identity = { user: 1000, group: 1000, drops: true }

/** Returns the functions of the stack from `main` on; undefined if there is no stack. */
function fromMain({ threads }: AskedProcess): string | undefined {
  const frames = threads[0]?.frames
  return frames?.slice(frames.indexOf('main')).join(' > ')
}

/** Returns the files of requests in the folder of the results. */
function requestsIn(results: string): readonly string[] {
  return readdirSync(results).filter((name) => name.startsWith('stacks'))
}

for (const [who, as] of [
  ['without capabilities', USER],
  ['as root', {}],
] as const) {
  t.test(`the stacks of processes that compute and wait, ${who}`, options, async (t) => {
    const pod = await startStacksPod(t)
    const tasks = ['exchange', 'read', 'futex', 'wait', 'poll', 'recurse']
    const started: Running[] = []
    for (const [rank, task] of tasks.entries()) started.push(await pod.start(task, { rank, as }))
    let found: readonly AskedProcess[] = []
    // A process that computes answers after half a second of processor time.
    await until('all processes but those of poll and the child have answered', async () => {
      found = await pod.request([], { as })
      return found.filter(({ threads }) => threads[0]?.frames !== undefined).length === 5
    })
    const stackOf = (wanted: number) => {
      const stacks = found.filter(({ rank }) => rank === wanted).map(fromMain)
      return stacks.find((stack) => stack !== undefined)
    }
    // It seldom asks whether it is to end.
    t.match(stackOf(0), /^main > run > exchange( > has_end.*)?$/)
    t.match(stackOf(1), /^main > run > read_input > (__)?read$/)
    t.match(stackOf(2), /^main > run > wait_for_post > /)
    t.match(stackOf(3), /^main > run > wait_for_child > /)
    const threadOf = (wanted: number) => found.find(({ rank }) => rank === wanted)?.threads[0]
    t.match(threadOf(4), {
      state: 'sleeps',
      call: 'poll',
      why: 'a signal would end this call, so the thread was not asked',
    })
    t.equal(threadOf(5)?.frames?.length, 256)
    t.equal(threadOf(5)?.cut, true)
    const whys = found.filter(({ rank }) => rank === 3).map(({ threads }) => threads[0]?.why)
    t.match(
      whys.find((why) => why !== undefined),
      /^cpu-profile does not profile this program, or the process was forked/,
    )
    t.strictSame(requestsIn(pod.results), [])
    pod.endTasks()
    for (const { ended, log } of started) {
      t.equal(await ended, 7)
      t.equal(log(), 'done\n')
    }
  })
}

t.test('a process that cannot be asked has a reason', options, async (t) => {
  const pod = await startStacksPod(t)
  await pod.start('poll', { isStatic: true, rank: 0, as: USER })
  await pod.start('poll', { isPlain: true, rank: 1, as: USER })
  await pod.start('poll', { as: { user: 1001, group: 1001, drops: true } })
  await pod.start('read', { rank: 3, as: USER })
  const whys = async () => {
    const found = await pod.request([], { as: USER })
    return new Map(found.map(({ rank, threads }) => [rank, threads[0]]))
  }
  let found = await whys()
  await until('the process that can be asked has answered', async () => {
    found = await whys()
    return found.get(3)?.frames !== undefined
  })
  t.match(found.get(0), { call: 'poll', why: /^the program is static/ })
  t.match(found.get(1), { call: 'poll', why: /^neither the tool of cpu-profile nor/ })
  t.match(found.get(null)?.why, /^the process has another user/)
  // A foreign link and a foreign file in the folder, to which every process may write.
  symlinkSync('/etc/passwd', join(pod.results, 'stacks'))
  found = await whys()
  t.equal(found.get(3)?.why, 'another request for stacks has not ended')
  const other = await pod.request([], { container: 'vitals', env: { RIDEALONG_RESULTS: '/none' } })
  for (const { threads } of other) t.type(threads[0]?.why, 'string')
})

t.test('a launcher has no rank, although its pod has the variable RANK', options, async (t) => {
  const pod = await startStacksPod(t)
  const env = { RANK: '1' }
  const ranks = [2, 3].map((rank, at) => `env RANK=${rank} LOCAL_RANK=${at} sleep infinity &`)
  await pod.run([], { container: 'app', argv: ['sh', '-c', `${ranks.join(' ')} wait`], env })
  await pod.run([], { container: 'app', argv: ['sleep', 'infinity'], env })
  const ranksOf = async (program: string) => {
    const found = await pod.request()
    return found.filter((one) => one.program === program).map(({ rank }) => rank)
  }
  await until('all processes sleep', async () => (await ranksOf('sleep')).length === 3)
  t.strictSame(await ranksOf('sh'), [null])
  // Without a launcher, the rank of the pod is that of its process.
  t.strictSame((await ranksOf('sleep')).sort(), [1, 2, 3])
})

t.test('requests while a thread has the lock of malloc', options, async (t) => {
  const pod = await startStacksPod(t)
  const running = await pod.start('allocate', { rank: 0, as: USER })
  const inMalloc = new Set<string>()
  // A handler that allocates memory would wait for this lock forever.
  for (let count = 0; count < 10; count += 1) {
    const [process] = await pod.request([], { as: USER })
    const frames = process?.threads[0]?.frames ?? []
    if (frames.includes('allocate')) inMalloc.add(frames.at(-1) ?? '')
  }
  t.ok(
    [...inMalloc].some((name) => name !== 'allocate'),
    [...inMalloc].join(', '),
  )
  pod.endTasks()
  t.equal(await running.ended, 7)
  t.equal(running.log(), 'done\n')
})

t.test('a program that counts interrupted calls counts none', options, async (t) => {
  const pod = await startStacksPod(t)
  const asked = await pod.start('count', { as: USER, frequency: 1000 })
  const left = await pod.start('count', { frequency: 1000 })
  let stacks = 0
  for (let count = 0; count < 20; count += 1) {
    const found = await pod.request(count % 3 === 0 ? ['--threads'] : [], { as: USER })
    const threads = found.flatMap(({ threads }) => threads)
    stacks += threads.filter(({ frames }) => frames !== undefined).length
  }
  t.ok(stacks > 10, `${stacks} stacks`)
  pod.endTasks()
  t.equal(await asked.ended, 7)
  t.equal(await left.ended, 7)
  const calls = ['poll', 'epoll_wait', 'select', 'nanosleep', 'semop', 'sigtimedwait']
  const expected = [...calls.map((call) => `${call}: called, 0 interrupted`), 'done', ''].join('\n')
  t.equal(asked.log(), expected)
  t.equal(left.log(), expected)
})

t.test('text that is no answer is skipped', options, async (t) => {
  const pod = await startStacksPod(t)
  await pod.start('read', { rank: 0, as: USER })
  const write = () => {
    const names = requestsIn(pod.results).filter((name) => name !== 'stacks')
    for (const name of names) writeFileSync(join(pod.results, name), 'no answer'.repeat(1000))
  }
  // Often the thread answers before this text is written, so there are several requests.
  await until('a request reads only text that is no answer', async () => {
    const asked = await pod.run([], { as: USER })
    const timer = setInterval(write, 5)
    t.equal(await asked.ended, 0)
    clearInterval(timer)
    return /did not answer/.test(asked.log())
  })
})
