import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { pageData } from '../../../../src/runs/report/data.ts'
import type { CollectedRun } from '../../../../src/runs/report/gather.ts'
import { pprof } from './converted.ts'
import { profileRows, pythonRows } from './profile-rows.ts'
import { recordedRun } from './recorded.ts'

/** Prints a run with `go tool pprof`. Go builds this program when it is first used. */
function goToolPprof(t: Test, run: CollectedRun, ...options: readonly string[]): string {
  const file = join(t.testdir({}), 'run.pb.gz')
  writeFileSync(file, pprof(run))
  const words = ['tool', 'pprof', '-symbolize=none', ...options, file]
  const { status, stdout, stderr, error } = spawnSync('go', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`go tool pprof: ${error?.message ?? stderr}`)
  return stdout
}

/** Returns the nanoseconds in each function itself, from the output of `go tool pprof -top`. */
function flatTimes(top: string): ReadonlyMap<string, number> {
  const rows = top.matchAll(/^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +\d+(?:ns)? +[\d.]+% {2}(.*)$/gm)
  return new Map([...rows].map(([, flat, name = '']) => [name, Number(flat)]))
}

const TOP = ['-top', '-unit=ns', '-nodecount=1000', '-nodefraction=0'] as const

for (const name of ['profiles', 'all-metrics'] as const) {
  t.test(`go tool pprof reads the times of ${name} as in the report`, async (t) => {
    const run = recordedRun(name)
    const { programs = [] } = pageData(run, 'auto').profiles ?? {}
    const [program] = programs
    if (program === undefined) throw new Error('the recordings have no profiles')
    const top = goToolPprof(t, run, ...TOP)
    t.match(top, /Type: cpu\n/)
    const times = flatTimes(top)
    const sum = [...times.values()].reduce((all, own) => all + own, 0)
    t.equal(Number((sum / 1e9).toPrecision(6)), program.seconds)
    for (const [index, pod] of program.pods.entries()) {
      const own = flatTimes(goToolPprof(t, run, ...TOP, `-tagfocus=pod_index=^\\Q${pod}\\E$`))
      const seconds = program.functions.rows.reduce((all, row) => all + (row.self[index] ?? 0), 0)
      const shown = [...own.values()].reduce((all, one) => all + one, 0) / 1e9
      t.ok(Math.abs(shown - seconds) < 1e-4, `pod ${pod}: ${shown} s, ${seconds} s in the report`)
    }
  })
}

t.test('a sample has its functions, its time and its labels', async (t) => {
  const run = profileRows([
    { stack: 'main;f;f', seconds: 0.000001 },
    { pod: 'worker-1', program: 'ü 1', stack: 'main', seconds: 90_000 },
  ])
  const raw = goToolPprof(t, run, '-raw')
  t.match(raw, 'Comment: ridealong 1.0')
  t.match(raw, /cpu\/nanoseconds\[dflt\]\n +1000: 2 2 1 \n +pod_index:\[0\] program:\[lmp\]\n/)
  t.match(raw, / 90000000000000: 1 \n +pod_index:\[worker-1\] program:\[ü 1\]\n/)
  t.match(raw, /1: 0x0 (M=1 )?main /)
  t.match(raw, /2: 0x0 (M=1 )?f /)
})

t.test('waiting of Python is no processor time', async (t) => {
  const run = pythonRows([
    { threads: 'main', stack: 'work (a.py:1)', wall: 3, running: 1 },
    { threads: 'other', stack: 'load (a.py:2)', wall: 4, running: 0 },
  ])
  const raw = goToolPprof(t, run, '-raw')
  t.match(raw, /running\/nanoseconds\[dflt\] waiting\/nanoseconds\n/)
  const timesOf = (type: string) => [
    ...flatTimes(goToolPprof(t, run, ...TOP, `-sample_index=${type}`)),
  ]
  t.strictSame(timesOf('running'), [['work (a.py:1)', 1e9]])
  t.strictSame(timesOf('waiting'), [
    ['load (a.py:2)', 4e9],
    ['work (a.py:1)', 2e9],
  ])
  const unknown = pythonRows([{ threads: 'main', stack: 'f', wall: 3, running: null }])
  t.match(goToolPprof(t, unknown, '-raw'), /wall\/nanoseconds\[dflt\]\n +3000000000: /)
})
