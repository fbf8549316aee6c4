import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const PROGRAM = fileURLToPath(new URL('killed-archive.ts', import.meta.url))

/** The step after the last one: the archive is not killed. */
const NEVER = '1000'

t.test('an archive that ends at any step loses no run and leaves no part of one', async (t) => {
  const folder = t.testdir({})
  const found = JSON.parse(execFileSync(process.execPath, [PROGRAM, folder], { encoding: 'utf8' }))
  for (const [place, least] of [
    ['volume', 40],
    ['bucket', 20],
  ] as const) {
    const { steps, problems } = found[place]
    t.strictSame(problems, [], place)
    t.ok(steps > least, `${steps} steps with a ${place}`)
  }
})

t.test('the rows of an archive that SIGKILL has ended are stored by the next one', async (t) => {
  const folder = t.testdir({})
  for (const step of ['9', '25', '40'])
    t.equal(archive(folder, step).signal, 'SIGKILL', `step ${step}`)
  t.equal(archive(folder, NEVER).status, 0)
  isWhole(t, folder)
})

t.test('a full volume gets no part of a run, and later the run', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
  t.teardown(() => {
    execFileSync('umount', [folder])
    rmdirSync(folder)
  })
  const filler = join(folder, 'filler')
  // There is first no room for the logs, then none for all rows.
  const reasons = new Map([
    [60_000, /use their share of the volume/],
    [220_000, /ENOSPC/],
  ])
  for (const [left, reason] of reasons) {
    writeFileSync(filler, Buffer.alloc(2 ** 20 - left - (left % 4096)))
    const { status, stderr } = archive(folder, NEVER)
    t.equal(status, 1, `${left} bytes`)
    t.match(String(stderr), reason)
    t.notMatch(readdirSync(folder).join(' '), /namespace=/)
    rmSync(filler)
  }
  t.equal(archive(folder, NEVER).status, 0)
  isWhole(t, folder)
})

function archive(folder: string, step: string) {
  return spawnSync(process.execPath, [PROGRAM, folder, step])
}

/** Verifies the only run that is stored. */
function isWhole(t: Test, folder: string): void {
  t.strictSame(readdirSync(join(folder, 'namespace=hpc/date=2026-01-01')), ['run=lammps-1'])
  const run = join(folder, 'namespace=hpc/date=2026-01-01/run=lammps-1')
  const names = readdirSync(run)
  t.ok(names.includes('run.json') && names.includes('report.html'))
  const parquet = names.filter((name) => name.endsWith('.parquet'))
  t.ok(parquet.length >= 4, names.join(' '))
  for (const name of parquet) t.match(readFileSync(join(run, name), 'latin1'), /^PAR1.*PAR1$/s)
}
