import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { buildEnds, ENDS, endIn } from '../ends.ts'
import { run } from '../mpi/programs.ts'
import { program, pythons, pythonTests, sampler, sampling } from './sampler.ts'

const options = pythonTests()
/** Removes what differs between two runs. */
const stable = (text: string) => text.replaceAll(/0x[0-9a-f]+|pid=\d+/g, '')

t.test('the sampler defines no name that a program could find', options, async (t) => {
  const words = ['--dynamic', '--defined-only', sampler()]
  t.equal(execFileSync('nm', words, { encoding: 'utf8' }), '')
})

t.test('programs without Python do not change', options, async (t) => {
  for (const words of [
    [onPath('sh'), '-c', 'ls /proc/self/fd; ls /proc/self/task | wc -l; exit 7'],
    [onPath('cat'), '/proc/self/comm'],
  ]) {
    const { code, output } = await run(words, sampling())
    const plain = await run(words)
    t.strictSame([code, output], [plain.code, plain.output], words.join(' '))
  }
})

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'exit code': ['-c', 'import sys; sys.exit(7)'],
  exception: ['-c', '1 / 0'],
  signal: ['-c', 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'],
  crash: ['-X', 'faulthandler', '-c', 'import ctypes; ctypes.string_at(0)'],
  'stacks of faulthandler': [
    '-c',
    'import faulthandler, time; time.sleep(0.1); faulthandler.dump_traceback()',
  ],
  'numbers of files': [
    '-c',
    'import os\nfor _ in range(20000): f = os.open("/", 0); os.close(f); assert f == 3, f',
  ],
  'user and group': ['-c', 'import os, time; time.sleep(0.1); os.setgid(1); os.setuid(1)'],
  forks: ['-W', 'always::DeprecationWarning', program('forks.py')],
  'forks with errors': ['-W', 'error::DeprecationWarning', program('forks.py')],
  'start methods': [
    '-W',
    'always::DeprecationWarning',
    '-c',
    'import multiprocessing as m\nfor w in ["fork", "forkserver"]:\n' +
      '  with m.get_context(w).Pool(2) as p: print(p.map(abs, [-1, 2]))',
  ],
}

const folder = openFolder('ridealong-ends-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** A parent that waits for a child, which a thread has forked and whose threads end. */
const FORKS_IN_THREAD = [program('forks-in-thread.py')]
/** The main thread ends; another one works on. The C library then ends the program. */
const ENDS_MAIN = [
  '-c',
  'import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=[0.5]).start()\n' +
    'time.sleep(0.2)\nctypes.CDLL(None).pthread_exit(None)',
]

// musl has no child of a thread whose other threads can end: its first thread keeps a lock.
for (const [compiler, ways] of [
  ['gcc', Object.keys(ENDS)],
  ['musl-gcc', Object.keys(ENDS).filter((way) => way !== 'fork')],
] as const) {
  const skip = options.skip || (onPath(compiler) === compiler && `there is no ${compiler}`)
  t.test(`${compiler}: a program ends with its own threads`, { skip }, async (t) => {
    const path = join(folder, `python-${compiler}`)
    buildEnds(path, compiler, '-rdynamic', '-DPYTHON')
    await Promise.all(
      ways.map(async (way) => {
        const plain = await run(endIn(path, way))
        t.strictSame(await run(endIn(path, way), sampling(1000)), plain, way)
        t.equal(plain.code, ENDS[way as keyof typeof ENDS], way)
      }),
    )
  })
}

for (const { version, path } of pythons())
  t.test(`CPython ${version}: only its own threads keep a program alive`, options, async (t) => {
    const killed = ['timeout', '--signal=KILL', '30', path]
    for (const words of [FORKS_IN_THREAD, ENDS_MAIN]) {
      const [plain, sampled] = await Promise.all([
        run([...killed, ...words]),
        run([...killed, ...words], sampling(1000)),
      ])
      t.strictSame(sampled, plain)
      t.equal(plain.code, 0, plain.errors)
    }
  })

for (const { version, path } of pythons())
  for (const [name, words] of Object.entries(PROGRAMS))
    t.test(`CPython ${version}, ${name}: the program is the same`, options, async (t) => {
      const plain = await run([path, ...words])
      const sampled = await run([path, ...words], sampling(1000))
      t.strictSame(
        [sampled.code, sampled.output, stable(sampled.errors)],
        [plain.code, plain.output, stable(plain.errors)],
      )
    })
