import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder } from '../pod.ts'
import { onPath } from '../prerequisites.ts'
import { profileTests, tool } from './tool.ts'

const options = profileTests()

interface Preloaded {
  /** The folder of the results. */
  readonly results: string
  /** Runs a program with the loader. */
  run(argv: readonly string[], env?: NodeJS.ProcessEnv): SpawnSyncReturns<string>
}

function preload(t: Test, results = openFolder('ridealong-results-')): Preloaded {
  t.teardown(() => rmSync(results, { recursive: true, force: true }))
  const preloading = {
    PATH: process.env.PATH,
    LD_PRELOAD: join(tool().source, 'loader.so'),
    CPUPROFILE: join(results, 'cpu'),
    CPUPROFILE_FREQUENCY: '500',
  }
  return {
    results,
    run: ([program = '', ...words], env = {}) =>
      spawnSync(program, words, { env: { ...preloading, ...env }, encoding: 'utf8' }),
  }
}

/** Returns the number of samples of a program in the only profile, as google-pprof counts them. */
function samplesIn(results: string, program: string): number {
  const [name = '', ...others] = readdirSync(results)
  if (others.length > 0) throw new Error(`more than one file: ${name}, ${others}`)
  const words = ['--text', program, join(results, name)]
  const text = execFileSync('google-pprof', words, { encoding: 'utf8', stdio: 'pipe' })
  return Number(/^Total: (\d+) samples/m.exec(text)?.[1])
}

t.test('a program is profiled, and its output and exit code stay the same', options, (t) => {
  const { results, run } = preload(t)
  const { status, stdout, stderr } = run([tool().work, 'ratio'])
  t.strictSame([status, stdout, stderr], [3, '', ''])
  t.ok(samplesIn(results, tool().work) >= 10)
  t.end()
})

t.test('all threads of a program are profiled', options, (t) => {
  const { results, run } = preload(t)
  t.equal(run([tool().work, 'threads']).status, 6)
  t.ok(samplesIn(results, tool().work) >= 30)
  t.end()
})

t.test('a program that uses almost no processor time has no profile', options, (t) => {
  const { results, run } = preload(t)
  t.equal(run(['sh', '-c', 'exit 7']).status, 7)
  t.strictSame(readdirSync(results), [])
  t.end()
})

t.test('the environment and the open files of a program stay the same', options, (t) => {
  const { run } = preload(t)
  const words = ['sh', '-c', 'env | grep -v "^_="; ls -l /proc/self/fd | wc -l']
  const without = run(words, { LD_PRELOAD: '' }).stdout
  t.match(without, /CPUPROFILE=/)
  t.equal(run(words).stdout.replace(/LD_PRELOAD=.*/, 'LD_PRELOAD='), without)
  t.end()
})

t.test('the profiler never writes to a file that the program has opened', options, (t) => {
  const { results, run } = preload(t)
  const file = join(tool().source, '../mine')
  t.equal(run([tool().work, 'close', '1000', file]).status, 4)
  t.equal(readFileSync(file, 'utf8'), 'mine\n'.repeat(8))
  t.ok(samplesIn(results, tool().work) > 0)
  const script = `exec 3>${file} 4>>${file}; "$0" ratio; echo mine >&4; exit 2`
  t.equal(run(['sh', '-c', script, tool().work]).status, 2)
  t.equal(readFileSync(file, 'utf8'), 'mine\n')
  t.end()
})

t.test('forked children do not write the profile of their parent again', options, (t) => {
  const { results, run } = preload(t)
  t.equal(run([tool().work, 'fork']).status, 5)
  t.ok(samplesIn(results, tool().work) > 0)
  t.end()
})

t.test('the timer of the profiler does not kill a program that exec starts', options, (t) => {
  const { results, run } = preload(t)
  const { work, workStatic } = tool()
  t.strictSame(run([work, 'exec', '600', workStatic, 'ratio']).signal, null)
  t.equal(run([work, 'exec', '600', workStatic, 'ratio']).status, 3)
  t.equal(run([work, 'exec', '600', onPath('env'), '-i', work, 'ratio']).status, 3)
  t.strictSame(readdirSync(results), [])
  t.equal(run([work, 'exec', '600', work, 'ratio', '1600']).status, 3)
  t.ok(samplesIn(results, work) > 0)
  t.end()
})

t.test('musl cannot load the profiler; the reason is reported', options, (t) => {
  const { results, run } = preload(t)
  const { status, stderr } = run([tool().workWithMusl, 'ratio', '10'])
  t.strictSame([status, stderr], [3, ''])
  t.strictSame(readdirSync(results), ['loader.log'])
  const reason = /^\d+ work-with-musl: .*libridealong-unwind\.so\.8: No such file or directory\n$/
  t.match(readFileSync(join(results, 'loader.log'), 'utf8'), reason)
  t.end()
})

t.test('a missing library of the profiler is reported', options, (t) => {
  const { results, run } = preload(t)
  const lonely = openFolder('ridealong-lonely-')
  t.teardown(() => rmSync(lonely, { recursive: true }))
  execFileSync('cp', [join(tool().source, 'loader.so'), lonely])
  for (let runs = 0; runs < 2; runs += 1) {
    const LD_PRELOAD = `libnone.so:${join(lonely, 'loader.so')}`
    t.equal(run([tool().work, 'ratio', '10'], { LD_PRELOAD }).status, 3)
  }
  const lines = readFileSync(join(results, 'loader.log'), 'utf8').trim().split('\n')
  t.match(lines, [/^\d+ work: .*libridealong-unwind\.so\.8: cannot open/, /^\d+ work: /])
  t.end()
})

t.test('the reports of the loader do not grow without limit', options, (t) => {
  const { results, run } = preload(t)
  const script = 'i=0; while [ $i -lt 1500 ]; do "$0" ratio 0; i=$((i+1)); done'
  t.equal(run(['sh', '-c', script, tool().workWithMusl]).signal, null)
  const length = readFileSync(join(results, 'loader.log'), 'utf8').length
  t.ok(length > 60_000 && length <= 65_536, `${length} bytes`)
  t.end()
})

t.test('a program that cannot write its profile ends with its own exit code', options, (t) => {
  const { results, run } = preload(t)
  const { work } = tool()
  t.equal(run([work, 'ratio'], { CPUPROFILE: '/none/cpu' }).status, 3, 'no folder')
  chmodSync(results, 0o755)
  const other = ['setpriv', '--reuid=1234', '--clear-groups', work, 'ratio']
  t.equal(run(other).status, 3, 'not its folder')
  t.equal(run(['prlimit', '--fsize=1000', work, 'ratio']).status, 3, 'a limit of file sizes')
  mkdirSync(join(results, 'full'))
  const fill = 'mount -t tmpfs -o size=4k none . && head -c 4096 /dev/zero >full; exec "$0" ratio'
  const words = ['unshare', '--mount', 'sh', '-c', `cd "$1" && ${fill}`, work]
  const CPUPROFILE = join(results, 'full/cpu')
  t.equal(run([...words, join(results, 'full')], { CPUPROFILE }).status, 3, 'a full volume')
  t.end()
})

t.test('a setuid program runs without the profiler', options, (t) => {
  const { results, run } = preload(t)
  const folder = openFolder('ridealong-setuid-')
  t.teardown(() => rmSync(folder, { recursive: true }))
  execFileSync('cp', [tool().work, folder])
  chmodSync(join(folder, 'work'), 0o4755)
  chmodSync(results, 0o1777)
  const words = ['--reuid=1234', '--regid=1234', '--clear-groups', join(folder, 'work'), 'ratio']
  const { status, stderr } = run([onPath('setpriv'), ...words])
  t.strictSame([status, stderr, readdirSync(results)], [3, '', []])
  t.end()
})

t.test('a program that resets SIGPROF gets no SIGPROF from the profiler', options, (t) => {
  const { results, run } = preload(t)
  const script = `
import os, signal, sys
signal.signal(signal.SIGPROF, signal.SIG_DFL)
while os.times().user < 1: sum(range(1_000_000))
sys.exit(9)`
  t.equal(run(['python3', '-c', script]).status, 9)
  t.strictSame(readdirSync(results).length, 1)
  t.end()
})

t.test('a Python program that forks keeps its exit code and has one profile', options, (t) => {
  const { results, run } = preload(t)
  const script = `
import os, sys
while os.times().user < 1: sum(range(1_000_000))
if os.fork() == 0: sys.exit(0)
os.wait()
sys.exit(9)`
  const { status, stderr } = run(['python3', '-c', script])
  t.strictSame([status, stderr], [9, ''])
  t.strictSame(readdirSync(results).length, 1)
  t.end()
})
