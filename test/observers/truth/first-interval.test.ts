import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { isSample } from '../../../src/runs/log/entry.ts'
import { readLog } from '../../../src/runs/log/read.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { observer, podOf, type Running, until } from '../pod.ts'
import { observerTests } from '../prerequisites.ts'

// A program writes all of its bytes before the first sample, which is long before the second one.

const MIB = 30
const RATE = 4
const WRITE = `import sys, time
with open(sys.argv[1], 'wb') as file: file.write(bytes(${MIB} << 20))
time.sleep(${2 * RATE})`

t.test(
  'rates times intervals are the bytes that a new process wrote',
  { ...observerTests(), timeout: 300_000 },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ridealong-first-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const { run } = await podOf(t)
    const env = {
      RIDEALONG_TARGET_CONTAINER: 'app',
      RIDEALONG_OPTION_RATE: String(RATE),
      RIDEALONG_MODE: 'container',
      RIDEALONG_RESTART_POLICY: 'Never',
    }
    const logs = new Map<string, Running>()
    for (const metric of ['perf-sysstat', 'vitals'] as const) {
      const watching = await run(metric, [observer(metric)], env)
      await until(watching, /waiting for a process/)
      logs.set(metric, watching)
    }
    const app = await run('app', ['python3', '-c', WRITE, join(folder, 'data')])
    t.equal(await app.ended, 0)
    for (const [metric, watching] of logs) {
      t.equal(await watching.ended, 0)
      const entries = readLog(watching.log(), { source: 'log', metric }, BUILT_IN_ROWS)
      const rows = entries.filter(isSample).filter(({ section }) => section === 'process')
      const written = rows.map(({ kb_wr_s, interval }) => Number(kb_wr_s) * Number(interval))
      const sum = written.reduce((all, one) => all + one, 0) / 1024
      t.ok(Math.abs(sum / MIB - 1) < 0.03, `${metric}: ${sum} of ${MIB} MiB in ${written}`)
    }
  },
)
