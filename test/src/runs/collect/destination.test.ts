import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
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

const isLinux = process.platform === 'linux'
const isRoot = isLinux && process.getuid?.() === 0
const small = { skip: isRoot ? false : 'needs root on Linux, to mount a small file system' }
const full = { skip: isLinux ? false : 'needs /dev/full of Linux' }

const NO_SPACE = {
  name: 'WriteError',
  message: /^cannot continue writing \/.*: no space left on device \(ENOSPC\)$/,
}

t.test('a file gets its name and the header when the destination is closed', async (t) => {
  const folder = t.testdir({})
  const destination = await openDestination(join(folder, 'out.csv'), 'csv', 'head\n')
  t.strictSame(readdirSync(folder), ['out.csv.partial'])
  await destination.close(true)
  t.strictSame(readdirSync(folder), ['out.csv'])
  t.equal(readFileSync(join(folder, 'out.csv'), 'utf8'), 'head\n')
})

t.test('a file without the last text does not get its name', small, async (t) => {
  const folder = almostFull(t)
  const destination = await openDestination(join(folder, 'out.csv'), 'csv', 'head\n')
  await destination.write('', 'x'.repeat(12_000))
  await t.rejects(destination.close(true), NO_SPACE)
  t.strictSame(readdirSync(folder), ['filler'])
})

t.test('a device that does not take the last text is an error', full, async (t) => {
  const destination = await openDestination('/dev/full', 'csv', 'head\n')
  await t.rejects(destination.close(true), NO_SPACE)
  const failed = await openDestination('/dev/full', 'csv', 'head\n')
  await failed.close(false)
})
