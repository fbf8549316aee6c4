import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { until } from '../until.ts'
import { observer } from './pod.ts'
import { observerTests } from './prerequisites.ts'
import { NAMES } from './program.ts'

const options = observerTests()
const WITHOUT_NAME = join(dirname(observer('hold')), 'ridealong-observer')

/** Reports whether a process runs the program and sleeps, that is, waits for a signal. */
function waits(pid: string): boolean {
  if (!readlinkSync(`/proc/${pid}/exe`).endsWith('ridealong-observer')) return false
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.startsWith('S') === true
}

t.test('hold waits for SIGTERM as process 1 of a container', options, async (t) => {
  const program = observer('hold')
  const child = spawn('unshare', ['--pid', '--fork', '--kill-child', program], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  let holder = ''
  await until('hold waits for a signal', () => {
    holder = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' }).stdout.trim()
    return holder !== '' && waits(holder)
  })
  process.kill(Number(holder), 0)
  process.kill(Number(holder), 'SIGTERM')
  t.strictSame(await ended, [0, null])
})

t.test('the program prints its version and usage under each of its names', options, async (t) => {
  for (const program of [...NAMES.map(observer), WITHOUT_NAME]) {
    const say = (word: string) => spawnSync(program, [word], { encoding: 'utf8' })
    t.equal(say('--version').stdout, `${manifest.version}\n`)
    t.match(
      say('--help').stdout,
      /^Usage: vitals \| perf-sysstat \| io-sysstat \| pressure \| network \| cpu-profile \| mpi-trace \|\n {9}python-profile \| torch-collectives \| torch-trace \| nccl-ras \| gpu \| gpu-nvidia/m,
    )
  }
})

t.test('a wrong command line is reported, and the exit code in a pod is 0', options, async (t) => {
  const unknown = {
    status: 2,
    stderr: /^ridealong: unknown command pidstat; it must be vitals, perf-/,
  }
  t.match(spawnSync(WITHOUT_NAME, ['pidstat'], { encoding: 'utf8' }), unknown)
  const env = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
  const ended = spawnSync(observer('perf-sysstat'), ['-p', 'ALL'], { env, encoding: 'utf8' })
  t.match(ended, { status: 0, stdout: /COLLECTION END\nridealong: ended: unknown argument -p; / })
})

const NATIVE = { RIDEALONG_MODE: 'native', RIDEALONG_TARGET_CONTAINER: 'app' }
const RESTARTED = { ...NATIVE, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Always' }

t.test(
  'an observer with a fault waits, because the kubelet would restart it',
  options,
  async (t) => {
    const perf = observer('perf-sysstat')
    const faults: [string, readonly string[], RegExp][] = [
      ['an unknown command', [WITHOUT_NAME, 'pidstat'], /unknown command pidstat/],
      ['too few descriptors', ['sh', '-c', `ulimit -n 3; exec ${perf}`], /cannot wait for signals/],
    ]
    for (const [name, [program = '', ...words], message] of faults) {
      for (const env of [NATIVE, RESTARTED]) {
        const child = spawn(program, words, { env: { ...process.env, ...env } })
        const ended = once(child, 'exit')
        let said = ''
        child.stderr.on('data', (text) => {
          said += text
        })
        await until(`${name} is reported`, () => message.test(said) && waits(String(child.pid)))
        child.kill('SIGTERM')
        t.strictSame(await ended, [0, null], name)
      }
    }
  },
)
