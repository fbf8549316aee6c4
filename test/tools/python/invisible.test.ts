import { execFileSync } from 'node:child_process'
import t from 'tap'
import { onPath } from '../../observers/prerequisites.ts'
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
