import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { collectedRun } from '../../src/runs/log/collected.ts'
import { run } from '../command.ts'

const LOGS = fileURLToPath(new URL('../../logs/', import.meta.url))

/** Writes the recorded run as `collect` does, into one file. */
function collectedFile(t: Test): string {
  const text = collectedRun('hang').map((file) => file.text)
  return join(t.testdir({ 'hang.jsonl': text.join('') }), 'hang.jsonl')
}

/** Returns what a folder has, by the names of its files. */
function contentOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder).sort()
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  )
}

/** The verbs that read a run, with the words after it. */
const VERBS = [
  ['report'],
  ['report', '-o', 'json', '--title', 'run'],
  ['top', '--once', '-o', 'json'],
  ['convert', '--format', 'chrome-trace'],
]

for (const [verb = '', ...options] of VERBS) {
  t.test(
    `a file that is there twice changes no output: ${verb} ${options.join(' ')}`,
    async (t) => {
      const file = collectedFile(t)
      const copy = join(t.testdirName, 'copy.jsonl')
      // A copy of a part of the logs, under another name.
      writeFileSync(copy, `${readFileSync(file, 'utf8').split('\n').slice(0, 90).join('\n')}\n`)
      const once = await run([verb, file, ...options])
      t.equal(once.err, '')
      const twice = await run([verb, file, file, ...options])
      t.strictSame(
        [twice.code, twice.out, twice.err],
        [0, once.out, `ridealong: ${file} is named more than once: it is read once\n`],
      )
      const both = await run([verb, file, copy, ...options])
      t.strictSame([both.code, both.out], [0, once.out])
      t.match(
        both.err,
        /copy\.jsonl has (a log|\d logs) that .*hang\.jsonl has, too: each row counts once/,
      )
      copyFileSync(file, copy)
      const same = await run([verb, file, copy, ...options])
      t.strictSame([same.code, same.out], [0, once.out])
      t.match(same.err, /copy\.jsonl has the same content as .*hang\.jsonl: it is left out/)
    },
  )
}

t.test('the rows of Parquet are written once', async (t) => {
  const file = collectedFile(t)
  const convert = async (...files: readonly string[]) => {
    const to = join(t.testdirName, 'rows')
    rmSync(to, { recursive: true, force: true })
    const { code } = await run(['convert', ...files, '--format', 'parquet', '--to', to])
    t.equal(code, 0)
    return contentOf(to)
  }
  const once = await convert(file)
  t.ok(Object.keys(once).length > 5)
  t.strictSame(await convert(file, file), once)
  const folder = join(t.testdirName, 'folder')
  mkdirSync(folder)
  for (const { name, text } of collectedRun('hang')) writeFileSync(join(folder, name), text)
  t.strictSame(await convert(file, folder), once)
})

t.test('a run that is named twice on a side of a comparison is one run', async (t) => {
  const files = ['healthy', 'sleeping'].map((name) => {
    const folder = join(t.testdirName, name)
    mkdirSync(folder, { recursive: true })
    for (const file of collectedRun(name)) writeFileSync(join(folder, file.name), file.text)
    return folder
  })
  const [good = '', slow = ''] = files
  const once = await run(['compare', good, 'vs', slow])
  const many = await run(['compare', ...Array(5).fill(good), 'vs', ...Array(6).fill(slow)])
  t.equal(many.out, once.out)
  t.match(many.err, /healthy is named 5 times on side A: it counts as one run/)
  t.match(many.err, /sleeping is named 6 times on side B: it counts as one run/)
})

t.test('two runs are an error of every verb, which names both', async (t) => {
  const recorded = ['all-metrics/lammps-0.vitals.log', 'well/lammps.mpi-trace.log']
  const folder = t.testdir({ mixed: {} })
  const logs = recorded.map((name, index) => {
    const path = join(folder, 'mixed', `${index}.log`)
    copyFileSync(join(LOGS, name), path)
    return path
  })
  const to = join(folder, 'rows')
  for (const words of [
    ['report', ...logs],
    ['top', '--once', ...logs],
    ['convert', ...logs, '--format', 'parquet', '--to', to],
    ['convert', join(folder, 'mixed'), '--format', 'chrome-trace'],
    ['compare', ...logs.slice(0, 1), join(folder, 'mixed')],
  ]) {
    const { code, out, err } = await run(words)
    t.strictSame([code, out], [2, ''], words.join(' '))
    t.match(err, /: the logs are of several runs: pod all-metrics\/lammps-0-ktvkl of Job\/lammps /)
    t.match(err, /, and the log 1\.log .*; compare shows several side by side\n$/)
  }
  t.throws(() => readdirSync(to), { code: 'ENOENT' })
})
