import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDestination } from '../../../../src/runs/collect/destination.ts'

/** Returns a folder in a file system of 64 KiB, of which the file `filler` uses 60,000 bytes. */
function almostFull(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  t.teardown(() => {
    execFileSync('umount', [folder])
    rmdirSync(folder)
  })
  writeFileSync(join(folder, 'filler'), Buffer.alloc(60_000))
  return folder
}

const NO_SPACE = {
  name: 'WriteError',
  message: /^cannot continue writing \/.*: no space left on device \(ENOSPC\)$/,
}

t.test('a file without the last text does not get its name', async (t) => {
  const folder = almostFull(t)
  const destination = await openDestination(join(folder, 'out.csv'), 'csv', 'head\n')
  await destination.write('', 'x'.repeat(12_000))
  await t.rejects(destination.close(true), NO_SPACE)
  t.strictSame(readdirSync(folder), ['filler'])
})

t.test('a device that does not take the last text is an error', async (t) => {
  const destination = await openDestination('/dev/full', 'csv', 'head\n')
  await t.rejects(destination.close(true), NO_SPACE)
  const failed = await openDestination('/dev/full', 'csv', 'head\n')
  await failed.close(false)
})
