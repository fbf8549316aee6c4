import { execFileSync } from 'node:child_process'
import { globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openFolder, podOf, until } from '../pod.ts'
import { observerTests, parse, timepointsIn } from '../prerequisites.ts'

// Tests in which the wall clock jumps by days while an observer runs. The tests use libfaketime,
// which replaces functions of the C library. Therefore the program is linked dynamically here.

const CRATE = fileURLToPath(new URL('../../../observer', import.meta.url))
const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
const needsLibrary = 'libfaketime is not installed (Debian package: faketime)'
const skip = observerTests().skip || (LIBRARY === undefined ? needsLibrary : false)

/** Builds the program with a dynamically linked C library, and returns its path. */
function compile(): string {
  const env = { ...process.env, RUSTFLAGS: '-C target-feature=-crt-static' }
  const folder = join(CRATE, 'target', 'dynamic')
  const words = ['build', '--locked', '--quiet', '--target-dir', folder]
  execFileSync('cargo', words, { cwd: CRATE, env, stdio: 'inherit' })
  return join(folder, 'debug', 'ridealong-observer')
}

const JUMPS = ['-3d', '+4000d', '@1960-01-01 00:00:00', '@9999-12-31 23:59:58', '+0']

/** Leaves the monotonic clock as it is. */
const MONOTONIC = 'FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1'

for (const metric of ['perf-sysstat', 'io-sysstat'] as const) {
  t.test(
    `jumps of the wall clock do not affect the intervals of ${metric}`,
    { skip, timeout: 300_000 },
    async (t) => {
      const folder = openFolder('ridealong-clock-')
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const clock = join(folder, 'clock')
      writeFileSync(clock, '+0')
      const { run } = await podOf(t)
      await run('app', ['python3', '-c', 'while True: pass'])
      const preload = `LD_PRELOAD=${LIBRARY} FAKETIME_TIMESTAMP_FILE=${clock} FAKETIME_NO_CACHE=1`
      const command = `exec env ${preload} ${MONOTONIC} ${compile()} ${metric}`
      const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
      const watching = await run(metric, ['sh', '-c', command], env)
      for (const jump of JUMPS) {
        const before = timepointsIn(watching.log())
        await until(watching, () => timepointsIn(watching.log()) >= before + 2)
        writeFileSync(clock, jump)
      }
      const before = timepointsIn(watching.log())
      await until(watching, () => timepointsIn(watching.log()) >= before + 2)
      watching.signal('SIGTERM')
      t.equal(await watching.ended, 0)
      const { data } = parse(metric, watching.log())
      t.equal(data.length, timepointsIn(watching.log()))
      if (metric === 'io-sysstat') {
        const dates = [...watching.log().matchAll(/"date": "([^"]+)"/g)].map(([, date]) => date)
        t.ok(
          dates.includes('01/01/70') &&
            dates.some((date) => /^12\/31\/99|01\/01\/00/.test(date ?? '')),
          `the documents have the dates to which the clock jumped: ${dates}`,
        )
        return
      }
      const rows = data.flatMap((timepoint) => timepoint.cpu_statistics_task ?? [])
      t.ok(
        rows.some(({ time }) => Number(time) <= 10),
        'the clock jumped',
      )
      const shares = rows.map(({ percent_cpu }) => Number(percent_cpu))
      t.ok(
        shares.every((share) => share > 0 && share <= 110),
        `a loop uses at most one core: ${shares}`,
      )
    },
  )
}
