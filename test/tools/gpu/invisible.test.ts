import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { buildEnds, ENDS } from '../ends.ts'
import { run } from '../mpi/programs.ts'
import { asFirstProcess, build, gpuTests, program } from './container.ts'

const options = gpuTests()
const PYTHON = onPath('/usr/bin/python3')
/** States in the file of the reader (observer/gpu/readings.h). */
const [READING, EXITED, KILLED, HUNG] = [2, 7, 8, 9]

function resultsOf(t: Test): string {
  const results = openFolder('ridealong-gpu-results-')
  t.teardown(() => rmSync(results, { recursive: true, force: true }))
  return results
}

/** Returns what the reader does; undefined if there is no file of it. */
function stateIn(results: string): number | undefined {
  try {
    return readFileSync(join(results, 'readings')).readUInt32LE(8)
  } catch {
    return undefined
  }
}

t.test('the library defines no name that a program could find', options, async (t) => {
  const words = ['--dynamic', '--defined-only', join(build(), 'tool', 'libridealong-gpu.so')]
  t.equal(execFileSync('nm', words, { encoding: 'utf8' }), '')
})

t.test('the reader needs no version of glibc', options, async (t) => {
  const words = ['--version-info', join(build(), 'tool', 'ridealong-gpu')]
  t.notMatch(execFileSync('readelf', words, { encoding: 'utf8' }), /Version needs/)
})

/** A function of the shell that loads the tool into the programs that follow. */
const LOAD = 'load() { export LD_PRELOAD=/opt/ridealong/gpu-nvidia/libridealong-gpu.so; }'

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'exit code': ['sh', '-c', 'ls /proc/self/fd; exit 7'],
  signal: [
    PYTHON,
    '-c',
    'import os\nif os.fork() == 0: os.kill(os.getpid(), 9)\nprint(os.wait()[1])',
  ],
  'all children': [
    ...[PYTHON, '-c'],
    'import os\nends = []\nfor i in range(3):\n  if os.fork() == 0: os._exit(i)\n' +
      'try:\n  while True: ends += [os.wait()[1] >> 8]\nexcept ChildProcessError: ' +
      'print(sorted(ends))',
  ],
  'what it sees': [PYTHON, program('facts.py'), 'start'],
}

for (const [name, words] of Object.entries(PROGRAMS))
  t.test(`${name}: the first process of a container is the same`, options, async (t) => {
    const results = resultsOf(t)
    const container = { behavior: 'normal', results }
    const plain = await run(asFirstProcess(container, words, false))
    const loaded = await run(asFirstProcess(container, words))
    t.strictSame(loaded, plain, name)
    t.ok(existsSync(join(results, 'readings')), 'the tool was at work')
  })

/** What a program without the tool sees. */
const plainFacts = (t: Test) => {
  const container = { behavior: 'normal', results: resultsOf(t) }
  return run(asFirstProcess(container, [PYTHON, program('facts.py'), 'start'], false))
}

const STATES = { normal: READING, exit: EXITED, crash: KILLED, hang: HUNG } as const

for (const [behavior, state] of Object.entries(STATES))
  t.test(
    `a program sees nothing of the reader, with a library: ${behavior}`,
    options,
    async (t) => {
      const results = resultsOf(t)
      const words = [PYTHON, program('facts.py'), 'wait']
      const loaded = await run(asFirstProcess({ behavior, results }, words))
      const plain = await plainFacts(t)
      t.strictSame(loaded, plain)
      t.equal(plain.code, 7)
      t.equal(stateIn(results), state)
    },
  )

t.test('a pipe closes although the reader runs', options, async (t) => {
  const results = resultsOf(t)
  const [pipe, file] = ['pipe', 'closed'].map((name) => join(results, name))
  const script = 'mkfifo $2; (load; exec "$0" "$1" $3 >$2) & cat <$2; : >$3; wait $!; exit $?'
  const words = [
    'sh',
    '-c',
    `${LOAD}\n${script}`,
    PYTHON,
    program('closes.py'),
    pipe ?? '',
    file ?? '',
  ]
  const { code } = await run(asFirstProcess({ behavior: 'normal', results }, words, false))
  t.equal(code, 5)
  t.equal(stateIn(results), READING)
})

/** Prints the number of processes of the tool, when it has become the expected one. */
const COUNT = 'for i in $(seq 50); do n=$(pgrep -c -x ridealong-gpu); [ $n = $1 ] && break; '
const COUNTED = `${COUNT} sleep 0.1; done; echo $n`

t.test('the reader ends with the program that started it', options, async (t) => {
  const results = resultsOf(t)
  const count = (expected: number) => `env -u LD_PRELOAD sh -c '${COUNTED}' sh ${expected}`
  const long = 'exec 3</dev/nvidia0; exec sleep 600'
  const script = [
    LOAD,
    `(load; exec sh -c '${long}') & sleep 0.5`,
    count(2),
    `(load; sleep 0; exec true)`,
    count(2),
    'kill -9 $!; wait',
    count(0),
    `(load; exec sh -c '${long}') & sleep 0.5`,
    count(2),
    'kill $!; wait',
    count(0),
  ].join('\n')
  const words = ['sh', '-c', script]
  const { output, errors } = await run(
    asFirstProcess({ behavior: 'normal', results }, words, false),
  )
  t.equal(output, '2\n2\n0\n2\n0\n', errors)
})

t.test('the reader stays when a thread ends, and not the program', options, async (t) => {
  const results = resultsOf(t)
  const path = join(results, 'ends')
  buildEnds(path, 'gcc')
  const script = [
    LOAD,
    `(load; exec ${path} block) & until grep -q '^State:.Z' /proc/$!/status; do sleep 0.1; done`,
    'sleep 0.5; pgrep -c -x ridealong-gpu',
    'kill $!; wait',
    `env -u LD_PRELOAD sh -c '${COUNTED}' sh 0`,
  ].join('\n')
  const container = { behavior: 'normal', results }
  const { output, errors } = await run(asFirstProcess(container, ['sh', '-c', script], false))
  t.equal(output, '2\n0\n', errors)
})

t.test('the first process of a container ends with its own threads', options, async (t) => {
  const path = join(resultsOf(t), 'ends')
  buildEnds(path, 'gcc')
  // The first process gets no signal that it does not handle, and so does not end if it is blocked.
  const { block, ...ends } = ENDS
  await Promise.all(
    Object.entries(ends).map(async ([way, code]) => {
      const container = { behavior: 'normal', results: resultsOf(t) }
      const plain = await run(asFirstProcess(container, [path, way], false))
      t.strictSame(await run(asFirstProcess(container, [path, way]), {}, '', 30_000), plain, way)
      t.equal(plain.code, code, way)
    }),
  )
})

t.test('without /dev/nvidiactl, and where it cannot write, nothing happens', options, async (t) => {
  const words = ['sh', '-c', 'sh -c true; pgrep -x ridealong-gpu; exit 6']
  for (const behavior of [undefined, 'normal']) {
    const results = behavior === undefined ? resultsOf(t) : '/proc'
    const container = behavior === undefined ? { results } : { behavior, results }
    const end = await run(asFirstProcess(container, words))
    t.strictSame(end, { code: 6, output: '', errors: '' })
    t.equal(stateIn(results), undefined)
  }
})
